import { createHash } from "node:crypto";
import { type RawBuilder, sql } from "kysely";
import { all, db, first, run } from "./query.js";
import type { QueuedWorkRow } from "./rows.js";
import type { Operation } from "./store.js";

/** What a job of graphile-worker says of the work that it stands for: enough to tell who can do it. */
export interface JobPayload {
  readonly executionId: string;
  readonly skill: { readonly id: string; readonly owner: string; readonly name: string; readonly version: string };
}

/** On every job, so that all can be left alone. */
export const EVERY_JOB = "express-skills";
/** The task of work that containers do. */
export const CONTAINER_TASK = "container";
/** graphile-worker's limit is 128. */
const MAX_TASK_LENGTH = 100;
const WORK_OF_JOB = [
  "id",
  "skill_id",
  "skill_owner",
  "skill_name",
  "skill_version",
  "handler",
  "state",
  "run_at",
  "priority",
] as const;

/** What a job is made of: not the input, which may be large. */
export type WorkOfJob = Pick<QueuedWorkRow, (typeof WORK_OF_JOB)[number]>;
/** Each take of a process that died counts; how often work is taken is limited by its own row. */
const MAX_ATTEMPTS = 1_000;
/** A pool writes its id as soon as it has one, and may have locked a job before. */
const UNKNOWN_POOL_LIMIT = sql`interval '30 seconds'`;
/** A job that is locked for longer while its work waits is with nobody. */
const LOCK_LIMIT = sql`interval '15 seconds'`;
export const MAX_MENDED = 1_000;

/** The task of work that a handler of this name does. */
export function taskOf(handler: string | null): string {
  if (handler === null) return CONTAINER_TASK;
  // PostgreSQL takes no zero byte.
  if (Buffer.byteLength(handler) <= MAX_TASK_LENGTH && !handler.includes("\0")) return `handler:${handler}`;
  return `handler:sha256:${createHash("sha256").update(handler).digest("hex")}`;
}

/** The flag of a skill's jobs. */
export function flagOf(skillId: string): string {
  return `skill:${skillId}`;
}

/** Adds the job of waiting work, or takes the place of the one that it has. It is seen when the transaction is committed. */
export function* putJob(schema: string, work: WorkOfJob): Operation<void> {
  yield sql`select 1 from ${addJob(schema, (field) => field(work))}`.compile(db);
}

/** The call that does so, whose value is the job, with each field of a job as `value` gives it. */
export function addJob(schema: string, value: (field: JobField) => unknown): RawBuilder<unknown> {
  return sql`${sql.id(schema, "add_job")}(
    identifier => ${value((work) => taskOf(work.handler))}, payload => ${value((work) => JSON.stringify(payloadOf(work)))}::json,
    run_at => ${value(runAtOf)}::timestamptz, max_attempts => ${MAX_ATTEMPTS}::int, job_key => ${value((work) => work.id)},
    priority => ${value((work) => work.priority)}::int, flags => ${value((work) => [EVERY_JOB, flagOf(work.skill_id)])}::text[])`;
}

/** What a job has of its work. */
type JobField = (work: WorkOfJob) => unknown;

function payloadOf(work: WorkOfJob): JobPayload {
  return {
    executionId: work.id,
    skill: { id: work.skill_id, owner: work.skill_owner, name: work.skill_name, version: work.skill_version },
  };
}

/** What is due is so by the clock of the database. */
function runAtOf(work: WorkOfJob): string | null {
  return work.state === "LATER" ? work.run_at : null;
}

/** Removes the job of work that waits no more. It may have none: in a copied database no worker may have made their tables yet. */
export function* removeJob(schema: string, executionId: string): Operation<void> {
  const [canHaveJob] = (yield sql`select 1 from pg_catalog.pg_proc
    join pg_catalog.pg_namespace on pg_namespace.oid = pg_proc.pronamespace
    where nspname = ${schema} and proname = 'remove_job'`.compile(db)).rows;
  if (canHaveJob === undefined) return;
  yield sql`select 1 from ${sql.id(schema, "remove_job")}(${executionId})`.compile(db);
}

/** Has the job of waiting work wait for another handler: its skill was replaced. Does nothing when it waits no more. */
export function* passJobOn(schema: string, executionId: string, handler: string | null): Operation<void> {
  const waits = db.updateTable("queued_work").set({ handler }).where("id", "=", executionId).where("state", "!=", "TAKEN");
  const [work] = yield* all(waits.returning(WORK_OF_JOB));
  if (work !== undefined) yield* putJob(schema, work);
}

/** Has work that waits a job of which nobody has begun, in the place of one that was. */
export function* renewJob(schema: string, executionId: string): Operation<void> {
  const waits = db.selectFrom("queued_work").select(WORK_OF_JOB).where("id", "=", executionId).where("state", "!=", "TAKEN");
  const work = yield* first(waits.forUpdate());
  if (work !== undefined) yield* putJob(schema, work);
}

/** Says that a pool of an instance lives. */
export function* keepPool(id: string, instanceId: string): Operation<void> {
  yield* run(
    db
      .insertInto("job_pools")
      .values({ id, instance_id: instanceId })
      .onConflict((on) => on.column("id").doNothing()),
  );
}

export function* deletePool(id: string): Operation<void> {
  yield* run(db.deleteFrom("job_pools").where("id", "=", id));
}

/** Pools of instances that are gone. */
export function* listDeadPools(): Operation<string[]> {
  const rows = yield* all(
    db
      .selectFrom("job_pools")
      .leftJoin("instances", "instances.id", "job_pools.instance_id")
      .select("job_pools.id")
      .where("instances.id", "is", null),
  );
  return rows.map((row) => row.id);
}

/** Pools that have locked jobs and are no instance's: they left what they could not tell the end of. Reads all jobs. */
export function* listUnknownPools(schema: string): Operation<string[]> {
  const rows = yield* all(
    db
      .selectFrom(sql<{ locked_by: string; locked_at: string }>`${sql.id(schema, "_private_jobs")}`.as("jobs"))
      .leftJoin("job_pools", "job_pools.id", "jobs.locked_by")
      .select("jobs.locked_by")
      .distinct()
      .where("jobs.locked_by", "is not", null)
      .where("job_pools.id", "is", null)
      .where(sql<boolean>`jobs.locked_at < now() - ${UNKNOWN_POOL_LIMIT}`),
  );
  return rows.map((row) => row.locked_by);
}

/** Forgets pools that no instance has. */
export function* deleteDeadPools(ids: readonly string[]): Operation<void> {
  if (ids.length > 0) yield* run(db.deleteFrom("job_pools").where("id", "in", ids));
}

/**
 * Gives waiting work a job when it has none that will be done: it was copied from another database, the process that ran it died after its
 * job had ended, or a connection broke before a worker heard which job it had locked, since who locks a job takes its work at once. Gives how
 * much that was, at most MAX_MENDED.
 */
export function* mendJobs(schema: string): Operation<number> {
  const works = yield* all(
    db
      .selectFrom("queued_work")
      .select(WORK_OF_JOB)
      .where("state", "!=", "TAKEN")
      .where(sql<boolean>`not exists (select 1 from ${sql.id(schema, "_private_jobs")} as jobs
        where jobs.key = queued_work.id and jobs.attempts < jobs.max_attempts
          and (jobs.locked_at is null or jobs.locked_at > now() - ${LOCK_LIMIT}))`)
      .limit(MAX_MENDED)
      .forUpdate()
      .skipLocked(),
  );
  for (const work of works) yield* putJob(schema, work);
  return works.length;
}

/** Whether work of containers waits. */
export function* hasContainerJobs(schema: string): Operation<boolean> {
  const row = yield* first(
    db
      .selectFrom(sql<{ id: string; task_identifier: string; locked_at: string | null }>`${sql.id(schema, "jobs")}`.as("jobs"))
      .select("jobs.id")
      .where("jobs.task_identifier", "=", CONTAINER_TASK)
      .where("jobs.locked_at", "is", null)
      .limit(1),
  );
  return row !== undefined;
}
