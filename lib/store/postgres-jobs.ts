import { createHash } from "node:crypto";
import { EventEmitter } from "node:events";
import { isSkillError, SkillError } from "../errors.js";
import { type GraphileWorker, type JobTasks, type JobUtils, type LogJobs, loadGraphileWorker } from "./graphile-worker.js";
import type { PostgresClient, PostgresDriver, PostgresPool } from "./postgres-driver.js";
import { postgresFault, toStoreError } from "./postgres-errors.js";
import { allowSecondRelease, closePool, watchClients } from "./postgres-pool.js";
import type { PostgresTarget } from "./postgres-url.js";

/** Connections of all workers of a process: one listens, the others fetch jobs and tell their ends. */
export const JOB_CONNECTIONS = 6;
const IDLE_TIMEOUT_MS = 30_000;
/** How soon a job is seen whose time has come. */
const POLL_MS = 1_000;
/** PostgreSQL's limit of a name is 63 bytes. */
const MAX_SCHEMA_BYTES = 58;
const PUBLIC_SCHEMA = "express_skills_jobs";

export interface JobRun {
  readonly concurrency: number;
  readonly tasks: JobTasks;
  /** Called before each look for a job: which are left alone. */
  forbiddenFlags(): Promise<string[]>;
  /** Called once for each look: when it found no job, or when the job that it found has ended. */
  onLookEnd(): void;
  readonly log: LogJobs;
}

/** Takes jobs until it is shut down, or gives up. */
export interface JobPool {
  /** What its jobs are locked by. */
  readonly id: string;
  /** Resolves when it takes no more. */
  readonly shut: Promise<void>;
  /** Settles when what it ran has ended, too; rejects when it gave up. */
  readonly ended: Promise<void>;
  shutDown(): void;
}

/** The jobs of graphile-worker, in a schema beside ours: an application may have jobs of its own in the usual one. */
export interface Jobs {
  readonly schema: string;
  /**
   * Makes their tables, or brings them up to date. Does nothing when it was done, until `forget()`.
   * @throws STORE_DRIVER_UNAVAILABLE `graphile-worker` is not installed
   * @throws STORE_INVALID no permission to make the schema
   * @throws STORE_UNAVAILABLE it cannot be reached now
   */
  prepare(): Promise<void>;
  /** The tables may not be there any more: the next `prepare()` asks the database. */
  forget(): void;
  /** After `prepare()`. */
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

/** The name of the schema that belongs to one of ours. No two have the same. */
export function jobSchemaOf(schema: string): string {
  if (schema === "public") return PUBLIC_SCHEMA;
  const name = `${schema}_jobs`;
  if (Buffer.byteLength(schema) <= MAX_SCHEMA_BYTES && name !== PUBLIC_SCHEMA) return name;
  return `express_skills_${createHash("sha256").update(schema).digest("hex").slice(0, 32)}_jobs`;
}

/** @param description how the database is called in messages */
export function createJobs({ Pool }: PostgresDriver, { client, description }: PostgresTarget, ourSchema: string): Jobs {
  const schema = jobSchemaOf(ourSchema);
  let opening: Promise<Opened> | undefined;
  let preparing: Promise<void> | undefined;
  let opened: Opened | undefined;
  let isClosed = false;

  const open = async (): Promise<Opened> => {
    const library = await loadGraphileWorker();
    const config = { ...client, types: { getTypeParser: (oid: number) => parsers.get(oid) ?? String } };
    const pool = new Pool({ ...config, max: JOB_CONNECTIONS, idleTimeoutMillis: IDLE_TIMEOUT_MS, allowExitOnIdle: true });
    const inUse = watchClients(pool);
    allowSecondRelease(pool);
    try {
      const logger = new library.Logger(() => () => {});
      const utils = await alone(pool, schema, () => library.makeWorkerUtils({ pgPool: pool, schema, logger }));
      opened = { library, pool, inUse, utils };
      return opened;
    } catch (error) {
      await closePool(pool, inUse);
      throw error;
    }
  };
  const prepare = async () => {
    if (opened === undefined) {
      opening ??= open().finally(() => {
        if (opened === undefined) opening = undefined;
      });
      await opening;
    } else {
      const { pool, utils } = opened;
      await alone(pool, schema, () => utils.migrate());
    }
  };
  const ready = (): Opened => {
    if (opened === undefined || isClosed) throw new Error("The jobs are not prepared.");
    return opened;
  };

  return {
    schema,
    async prepare() {
      preparing ??= prepare().catch((error: unknown) => {
        preparing = undefined;
        throw toJobsError(error, schema, description);
      });
      await preparing;
    },
    forget() {
      preparing = undefined;
    },
    run: (run) => runPool(ready(), schema, run),
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

function runPool({ library, pool }: Opened, schema: string, run: JobRun): JobPool {
  const { concurrency, tasks, forbiddenFlags, onLookEnd, log } = run;
  const events = new EventEmitter();
  let isShut = false;
  const shut = new Promise<void>((resolve) => {
    events.once("pool:gracefulShutdown", () => {
      isShut = true;
      resolve();
    });
  });
  const options = {
    pgPool: pool,
    schema,
    logger: new library.Logger(() => log),
    events,
    concurrency,
    pollInterval: POLL_MS,
    noHandleSignals: true as const,
    forbiddenFlags,
    // Without these it ends the process when it cannot tell the end of a job: https://github.com/graphile/worker/issues/387
    preset: { worker: { completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
  };
  for (const end of ["worker:getJob:empty", "worker:getJob:error", "job:complete"]) events.on(end, onLookEnd);
  const made = library.runTaskList(options, tasks, pool);
  const shutDown = () => {
    if (!isShut) made.gracefulShutdown().catch(() => {});
  };
  // It would keep the ids of tasks, or its failure to read them, for ever. A look that fails after the shutdown is printed on the console.
  events.once("worker:getJob:error", () => setTimeout(shutDown, POLL_MS / 2));
  // Any other schema of the database may have been migrated: this tells nothing of ours, and would set the exit code of the process.
  events.on("pool:listen:notification", ({ message }: { message: { channel: string } }) => {
    if (message.channel === "worker:migrate") message.channel = "";
  });
  return { id: made.id, shut, ended: made.promise, shutDown };
}

/** Makes tables while no other process makes those of this schema: of several at once, graphile-worker has some fail. */
async function alone<T>(pool: PostgresPool, schema: string, makeTables: () => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let isBroken = false;
  try {
    await client.query({ text: "begin" });
    await client.query({
      text: "select pg_advisory_xact_lock(hashtext('express-skills jobs'), hashtext($1))",
      values: [schema],
    });
    await makeFirstTable(pool, schema);
    return await keepingExitCode(makeTables());
  } finally {
    await client.query({ text: "commit" }).catch(() => {
      isBroken = true;
    });
    client.release(isBroken);
  }
}

/** It sets that of the process when the tables are those of a newer version. */
async function keepingExitCode<T>(work: Promise<T>): Promise<T> {
  const before = process.exitCode;
  try {
    return await work;
  } catch (error) {
    process.exitCode = before;
    throw error;
  }
}

/** A role that may not make schemas can use one that was made for it, but graphile-worker would try to make it. */
async function makeFirstTable(pool: PostgresPool, schema: string): Promise<void> {
  const text = `select exists (select 1 from pg_catalog.pg_class where relnamespace = pg_namespace.oid and relname = 'migrations') as has_table
    from pg_catalog.pg_namespace where nspname = $1`;
  const [found] = (await pool.query({ text, values: [schema] })).rows;
  if (found === undefined || found["has_table"] === true) return;
  const columns = "id int primary key, ts timestamptz default now() not null, breaking boolean not null default false";
  const name = `"${schema.replaceAll('"', '""')}".migrations`;
  await pool.query({ text: `create table if not exists ${name} (${columns})` });
}

/** As the package `pg` reads values by itself; the application may have changed that for the whole process. */
const parsers: ReadonlyMap<number, (value: string) => unknown> = new Map<number, (value: string) => unknown>([
  [16, (value) => value === "t"], // bool
  [21, Number], // int2
  [23, Number], // int4
  [114, JSON.parse], // json
  [3802, JSON.parse], // jsonb
  [1184, (value) => new Date(value)], // timestamptz
]);

function toJobsError(error: unknown, schema: string, database: string): unknown {
  if (isSkillError(error) || postgresFault(error) !== "denied") return toStoreError(error, database);
  const text = error instanceof Error ? error.message : String(error);
  const cure = `Have somebody who may run CREATE SCHEMA "${schema}" AUTHORIZATION this role, or grant it CREATE on the database.`;
  const message = `The schema ${schema} of queued work cannot be made or read in ${database}: ${text}. ${cure}`;
  return new SkillError("STORE_INVALID", message, { cause: error });
}
