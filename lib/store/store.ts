import type { CompiledQuery } from "kysely";
import type { MaybePromise } from "../types.js";
import type { Jobs } from "./postgres-jobs.js";
import type { ExecutionRow, QueuedWorkRow } from "./rows.js";

/**
 * A few queries that belong together, written once for databases that answer at once (SQLite) and later (PostgreSQL): a generator
 * that yields compiled queries and gets each one's rows back. Queries are made with `all()`, `first()` and `run()` of `query.ts`.
 */
export type Operation<T> = Generator<CompiledQuery, T, QueryAnswer>;

export interface QueryAnswer {
  readonly rows: readonly unknown[];
  readonly changes: number;
}

/** A row that the database refused while the rest of its batch was written. */
export interface RefusedRow {
  readonly id: string;
  readonly error: unknown;
}

/** How an enqueueing ended: `gone` when the skill was unregistered in this moment. */
export type EnqueueEnd = "done" | "gone" | "key-taken";

/** What an instance wants to take. */
export interface WorkToTake {
  readonly id: string;
  readonly idempotent: boolean;
}

/** Operations on queued work of which each is one statement: one round trip where a transaction takes three or more. */
export interface WorkStatements {
  /** What `insertWork` does for work without a job key. */
  insertWork(execution: ExecutionRow, work: QueuedWorkRow): Promise<EnqueueEnd>;
  /** What `takeWork` does for one piece of work. `undefined` when somebody else had taken it, or cancelled it, before. */
  takeWork(wanted: WorkToTake, instanceId: string): Promise<QueuedWorkRow | undefined>;
  /** What `deleteWork` does. */
  deleteWork(ids: readonly string[], instanceId: string): Promise<void>;
}

export type StoreJobs = Jobs & WorkStatements;

/** An open database. */
export interface Store {
  readonly kind: "sqlite" | "postgres";
  /** Runs an operation that only reads. On SQLite the answer is there at once. */
  read<T>(operation: Operation<T>): MaybePromise<T>;
  /**
   * Runs an operation in one transaction, all or nothing. `operation` makes a new generator for each try: while another process holds
   * the lock it is tried again for up to 5 s, without blocking the event loop.
   * @throws STORE_UNAVAILABLE (locked, full, gone)
   */
  write<T>(operation: () => Operation<T>): Promise<T>;
  /**
   * Inserts or updates executions by id in one transaction, at most 500 and never one id twice. A final status is never replaced by
   * `QUEUED` or `RUNNING`; `INTERRUPTED` may be replaced by any final status; no other final status is replaced.
   * One try: throws when the whole batch could not be written (locked, full); rows that violate a constraint are left out and returned.
   */
  upsertExecutions(rows: readonly ExecutionRow[]): MaybePromise<readonly RefusedRow[]>;
  /**
   * Databases that can tell so: calls `onChange` when skills or settings may have been changed by any process, in the moment of the change while that
   * can be told, and every 20 s otherwise. It ends when the store is closed.
   */
  watch?(onChange: () => void): void;
  /** Where work for later is a job of graphile-worker. */
  readonly jobs?: StoreJobs;
  close(): MaybePromise<void>;
}

export interface StoreConfig {
  /** A file, `:memory:`, or a `postgres://` URL. */
  readonly database: string;
  /** `process`: a commit survives the process. `power`: also loss of power. */
  readonly durability: "process" | "power";
}
