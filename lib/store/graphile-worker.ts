import type { EventEmitter } from "node:events";
import { loadOptionalPeer } from "./optional-peer.js";
import type { PostgresPool } from "./postgres-driver.js";

/** The part of the package `graphile-worker` (0.17) that this library uses. */
export interface GraphileWorker {
  readonly Logger: new (factory: (scope: object) => LogJobs) => object;
  makeWorkerUtils(options: JobsOptions): Promise<JobUtils>;
  runTaskList(options: JobsOptions & TaskOptions, tasks: JobTasks, pool: PostgresPool): WorkerPool;
}

export type LogJobs = (level: string, message: string, meta?: { readonly error?: unknown }) => void;

export interface JobsOptions {
  readonly pgPool: PostgresPool;
  readonly schema: string;
  readonly logger: object;
}

export interface TaskOptions {
  /** Gets what happens in the pool, as it happens. */
  readonly events: EventEmitter;
  readonly concurrency: number;
  /** Milliseconds between looks for jobs whose time has come. */
  readonly pollInterval: number;
  readonly noHandleSignals: true;
  /** Called before each look: jobs with one of these flags are left alone. */
  forbiddenFlags(): Promise<string[]>;
  readonly preset: { readonly worker: { readonly completeJobBatchDelay: number; readonly failJobBatchDelay: number } };
}

/** By task identifier; which ones there are is read at each look for a job. */
export type JobTasks = Record<string, (payload: unknown) => Promise<void>>;

export interface JobUtils {
  /** Makes the tables that are missing. */
  migrate(): Promise<void>;
  forceUnlockWorkers(poolIds: readonly string[]): Promise<void>;
  cleanup(options: { readonly tasks: readonly "DELETE_PERMAFAILED_JOBS"[] }): Promise<void>;
  release(): Promise<void>;
}

export interface WorkerPool {
  /** What its jobs are locked by. */
  readonly id: string;
  /** Settles when it takes no more, and what it ran has ended; rejects when it gave up by itself. */
  readonly promise: Promise<void>;
  gracefulShutdown(): Promise<void>;
}

/** @throws STORE_DRIVER_UNAVAILABLE */
export async function loadGraphileWorker(
  load: () => Promise<unknown> = () => import("graphile-worker"),
): Promise<GraphileWorker> {
  const peer = { name: "graphile-worker", range: "0.17", use: "Work for later on a postgres:// database" };
  const loaded = (await loadOptionalPeer(peer, load)) as GraphileWorker & { readonly default?: GraphileWorker };
  return loaded.default ?? loaded;
}
