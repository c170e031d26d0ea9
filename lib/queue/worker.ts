import type { AsyncResource } from "node:async_hooks";
import type { SkillExecutor } from "../executor/executor.js";
import type { SkillRegistry } from "../registry/registry.js";
import type { Store } from "../store/store.js";
import type { Logger, SandboxRunner } from "../types.js";

/** What a worker needs of the open kit. */
export interface WorkerRooms {
  readonly store: Store;
  readonly registry: SkillRegistry;
  readonly executor: SkillExecutor;
  readonly sandbox: Pick<SandboxRunner, "describe">;
  readonly instanceId: string;
  readonly logger: Logger;
}

export interface WorkerPlace {
  /** Whether nobody asked for it: then it lets its process end where it can, and does not complain when it cannot work here. */
  readonly isBackground: boolean;
  /** The asynchronous context that work runs in. */
  readonly scope: AsyncResource;
}

/** Does queued work of an open kit, at most `concurrency` at a time. */
export interface Worker {
  /** There may be work. */
  wake(): void;
  /** Takes nothing more, waits `graceMs` for what runs, and has the executor end the rest. */
  stop(graceMs: number): Promise<void>;
}
