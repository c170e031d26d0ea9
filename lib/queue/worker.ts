import type { AsyncResource } from "node:async_hooks";
import type { SkillExecutor } from "../executor/executor.js";
import type { SkillRegistry } from "../registry/registry.js";
import type { Store } from "../store/store.js";
import type { Logger, SandboxRunner } from "../types.js";
import { JobWorker } from "./job-worker.js";
import type { WorkerConfig } from "./options.js";
import { RowWorker } from "./row-worker.js";

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

/** A worker on the rows of the queue, or on jobs of graphile-worker where these stand for them. */
export function createWorker(rooms: WorkerRooms, config: WorkerConfig, place: WorkerPlace): Worker {
  const { jobs } = rooms.store;
  return jobs === undefined ? new RowWorker(rooms, config, place) : new JobWorker(rooms, jobs, config, place);
}
