import { AsyncLocalStorage } from "node:async_hooks";
import type { Deadline } from "./deadline.js";

/** The call whose handler is running: what a call made inside it belongs to. */
export interface RunningCall {
  /** The kit of the call, as facades and nested calls compare it. */
  readonly kit: object;
  readonly executionId: string;
  readonly rootId: string;
  readonly apiKeyId: string;
  readonly sessionId: string | null;
  readonly requestId: string | null;
  readonly deadline: Deadline;
  /** `name@version` of the first call and of each nested one, this one last. */
  readonly chain: readonly string[];
}

/** Follows a handler through its asynchronous work; shared by all kits of the process, since a handler may call another kit's. */
export const runningCall = new AsyncLocalStorage<RunningCall>();
