import { SkillError } from "../errors.js";
import {
  type GraphileWorker,
  type JobPool,
  type JobTasks,
  type JobUtils,
  type LogJobs,
  loadGraphileWorker,
} from "./graphile-worker.js";
import type { PostgresClient, PostgresDriver, PostgresPool } from "./postgres-driver.js";
import { postgresFault, toStoreError } from "./postgres-errors.js";
import { closePool, watchClients } from "./postgres-pool.js";
import type { PostgresTarget } from "./postgres-url.js";

/** Connections of all workers of a process: one listens, the others fetch jobs and tell their ends. */
export const JOB_CONNECTIONS = 6;
const IDLE_TIMEOUT_MS = 30_000;
/** How soon a job is seen whose time has come. */
const POLL_MS = 1_000;
/** PostgreSQL's limit of a name, less the ending. */
const MAX_SCHEMA_LENGTH = 58;

export interface JobRun {
  readonly concurrency: number;
  readonly tasks: JobTasks;
  forbiddenFlags(): Promise<string[]>;
  readonly log: LogJobs;
}

/** The jobs of graphile-worker, in a schema beside ours: an application may have jobs of its own in the usual one. */
export interface Jobs {
  readonly schema: string;
  /**
   * Makes their tables, or brings them up to date. Does nothing when it was done.
   * @throws STORE_DRIVER_UNAVAILABLE `graphile-worker` is not installed
   * @throws STORE_INVALID no permission to make the schema
   * @throws STORE_UNAVAILABLE it cannot be reached now
   */
  prepare(): Promise<void>;
  /** Takes jobs until it is shut down, or gives up. After `prepare()`. */
  run(run: JobRun): JobPool;
  /** Frees the jobs that pools locked which are gone. After `prepare()`. */
  unlock(poolIds: readonly string[]): Promise<void>;
  /** Deletes jobs that others took the place of while they were locked. After `prepare()`. */
  deleteReplaced(): Promise<void>;
  close(): Promise<void>;
}

interface Opened {
  readonly library: GraphileWorker;
  readonly pool: PostgresPool;
  readonly inUse: ReadonlySet<PostgresClient>;
  readonly utils: JobUtils;
}

/** The name of the schema that belongs to one of ours. */
export function jobSchemaOf(schema: string): string {
  return schema === "public" ? "express_skills_jobs" : `${schema.slice(0, MAX_SCHEMA_LENGTH)}_jobs`;
}

/** @param description how the database is called in messages */
export function createJobs({ Pool }: PostgresDriver, { client, description }: PostgresTarget, ourSchema: string): Jobs {
  const schema = jobSchemaOf(ourSchema);
  let opening: Promise<Opened> | undefined;
  let opened: Opened | undefined;
  let isClosed = false;

  const open = async (): Promise<Opened> => {
    const library = await loadGraphileWorker();
    // It reads values as the package `pg` gives them to everybody.
    const { types: _, ...config } = client;
    const pool = new Pool({ ...config, max: JOB_CONNECTIONS, idleTimeoutMillis: IDLE_TIMEOUT_MS, allowExitOnIdle: true });
    const inUse = watchClients(pool);
    try {
      const logger = new library.Logger(() => () => {});
      const utils = await library.makeWorkerUtils({ pgPool: pool, schema, logger });
      opened = { library, pool, inUse, utils };
      return opened;
    } catch (error) {
      await closePool(pool, inUse);
      throw toJobsError(error, schema, description);
    }
  };
  const ready = (): Opened => {
    if (opened === undefined || isClosed) throw new Error("The jobs are not prepared.");
    return opened;
  };

  return {
    schema,
    async prepare() {
      opening ??= open().catch((error: unknown) => {
        opening = undefined;
        throw error;
      });
      await opening;
    },
    run({ concurrency, tasks, forbiddenFlags, log }) {
      const { library, pool } = ready();
      return library.runTaskList(
        {
          pgPool: pool,
          schema,
          logger: new library.Logger(() => log),
          concurrency,
          pollInterval: POLL_MS,
          noHandleSignals: true,
          forbiddenFlags,
          // Without these it ends the process when it cannot tell the end of a job: https://github.com/graphile/worker/issues/387
          preset: { worker: { completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
        },
        tasks,
        pool,
      );
    },
    unlock: (poolIds) => ready().utils.forceUnlockWorkers(poolIds),
    deleteReplaced: () => ready().utils.cleanup({ tasks: ["DELETE_PERMAFAILED_JOBS"] }),
    async close() {
      isClosed = true;
      const made = await opening?.catch(() => undefined);
      if (made === undefined) return;
      await made.utils.release();
      await closePool(made.pool, made.inUse);
    },
  };
}

function toJobsError(error: unknown, schema: string, database: string): unknown {
  if (postgresFault(error) !== "denied") return toStoreError(error, database);
  const text = error instanceof Error ? error.message : String(error);
  const cure = "Run `express-skills migrate` as a role that may, or grant this one CREATE on the database.";
  const message = `The schema ${schema} of queued work cannot be made or read in ${database}: ${text}. ${cure}`;
  return new SkillError("STORE_INVALID", message, { cause: error });
}
