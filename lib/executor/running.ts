import { AsyncLocalStorage } from "node:async_hooks";
import type { ExecutionSandbox } from "../types.js";
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
  /** In queued work: stores what a call said, for other processes; called before its end is committed. Never rejects. */
  readonly beforeEnd?: ((executionId: string) => Promise<void>) | undefined;
  /** Told what a container that did the call's work left behind. */
  readonly onContainer?: ((trace: ContainerTrace) => void) | undefined;
  /** Told lines that such a container writes to its standard error, while it does. */
  readonly onContainerLines?: ((text: string) => void) | undefined;
}

/** What a call learned of a container that did its work. */
export interface ContainerTrace {
  readonly sandbox: ExecutionSandbox;
  /** What its program wrote to its standard error. */
  readonly stderr: string;
}

/** Follows a handler through its asynchronous work; shared by all kits of the process, since a handler may call another kit's. */
export const runningCall = new AsyncLocalStorage<RunningCall>();
