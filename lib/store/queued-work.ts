import { type ExpressionBuilder, sql } from "kysely";
import { endUnrun, insertExecution } from "./executions.js";
import { putJob, removeJob } from "./jobs.js";
import { all, db, first, run } from "./query.js";
import type { ExecutionRow, QueuedWorkRow, Tables } from "./rows.js";
import type { EnqueueEnd, Operation, WorkToTake } from "./store.js";

/** What the queue shows of work that is due: enough to tell who can do it. */
export type DueWork = Pick<QueuedWorkRow, "id" | "skill_id" | "skill_owner" | "skill_name" | "skill_version">;

export interface Enqueued {
  readonly end: EnqueueEnd;
  /** The execution whose work made room. */
  readonly replacedId?: string;
}

/**
 * Writes an execution, its work and, where jobs stand for work, its job together. Waiting work of the same owner with the same job key makes
 * room: its execution ends as CANCELLED. Gives whose execution that is, too.
 * @param jobs the schema of graphile-worker's jobs, on PostgreSQL
 */
export function* insertWork(execution: ExecutionRow, work: QueuedWorkRow, jobs: string | undefined): Operation<Enqueued> {
  const living = db.selectFrom("skills").select("id").where("id", "=", work.skill_id).where("deleted_at", "is", null);
  // Where transactions run side by side, nobody may unregister it, and nobody else use the job key, before this one has ended.
  const skill = yield* first(jobs === undefined ? living : living.forShare());
  if (skill === undefined) return { end: "gone" };
  if (!(yield* insertExecution(execution))) return { end: "key-taken" };
  if (jobs !== undefined && work.job_key !== null) yield* lockJobKey(work.api_key_id, work.job_key);
  const replacedId = work.job_key === null ? undefined : yield* replaceWaiting(work.api_key_id, work.job_key, work, jobs);
  yield* run(db.insertInto("queued_work").values(work));
  if (jobs !== undefined) yield* putJob(jobs, work);
  return { end: "done", ...(replacedId !== undefined && { replacedId }) };
}

function* lockJobKey(apiKeyId: string, jobKey: string): Operation<void> {
  yield sql`select pg_advisory_xact_lock(hashtext(${apiKeyId}), hashtext(${jobKey}))`.compile(db);
}

function* replaceWaiting(
  apiKeyId: string,
  jobKey: string,
  by: QueuedWorkRow,
  jobs: string | undefined,
): Operation<string | undefined> {
  const [waiting] = yield* all(
    db.deleteFrom("queued_work").where("api_key_id", "=", apiKeyId).where("job_key", "=", jobKey).returning("id"),
  );
  if (waiting === undefined) return undefined;
  if (jobs !== undefined) yield* removeJob(jobs, waiting.id);
  yield* endUnrun(waiting.id, "SKILL_CANCELLED", `Work with the same job key took its place: execution ${by.id}.`, by.created_at);
  return waiting.id;
}

/** Makes due whose time has come; gives how much that was. */
export function* promoteWork(nowIso: string): Operation<number> {
  return yield* run(
    db.updateTable("queued_work").set({ state: "DUE" }).where("state", "=", "LATER").where("run_at", "<=", nowIso),
  );
}

/** Whether `promoteWork` has anything to do: asked first, since it only reads. */
export function* hasWorkToPromote(nowIso: string): Operation<boolean> {
  const row = yield* first(
    db.selectFrom("queued_work").select("id").where("state", "=", "LATER").where("run_at", "<=", nowIso).limit(1),
  );
  return row !== undefined;
}

/** Work that is due, in the order in which it shall be taken, without that of the given skills. */
export function* listDue(limit: number, withoutSkills: readonly string[]): Operation<DueWork[]> {
  let query = db
    .selectFrom("queued_work")
    .select(["id", "skill_id", "skill_owner", "skill_name", "skill_version"])
    .where("state", "=", "DUE");
  if (withoutSkills.length > 0) query = query.where("skill_id", "not in", withoutSkills);
  return yield* all(query.orderBy("state").orderBy("priority").orderBy("run_at").orderBy("id").limit(limit));
}

/** Takes work for an instance: its executions are RUNNING from then on. Gives what nobody else had taken, or cancelled, before. */
export function* takeWork(wanted: readonly WorkToTake[], instanceId: string): Operation<QueuedWorkRow[]> {
  const taken: QueuedWorkRow[] = [];
  for (const { id, idempotent } of wanted) {
    const [row] = yield* all(
      db
        .updateTable("queued_work")
        .set((eb) => ({
          state: "TAKEN",
          instance_id: instanceId,
          job_key: null,
          takes: eb("takes", "+", 1),
          idempotent: idempotent ? 1 : 0,
        }))
        .where("id", "=", id)
        .where("state", "!=", "TAKEN")
        .returningAll(),
    );
    if (row === undefined) continue;
    const begun = yield* run(
      db
        .updateTable("skill_executions")
        .set({ status: "RUNNING", instance_id: instanceId })
        .where("id", "=", id)
        .where("status", "=", "QUEUED"),
    );
    if (begun > 0) taken.push(row);
    else yield* run(db.deleteFrom("queued_work").where("id", "=", id));
  }
  return taken;
}

/** Puts work back that an instance took and has not begun, or may begin again; gives whether it still had it. */
export function* putBackWork(id: string, instanceId: string, runAtIso: string, jobs: string | undefined): Operation<boolean> {
  const [work] = yield* all(
    db
      .updateTable("queued_work")
      // Seen as due by the next look at the queue after that time.
      .set((eb) => ({ state: "LATER", instance_id: null, run_at: runAtIso, takes: eb("takes", "-", 1) }))
      .where("id", "=", id)
      .where("state", "=", "TAKEN")
      .where("instance_id", "=", instanceId)
      .returningAll(),
  );
  if (work === undefined) return false;
  yield* queueAgain([id]);
  if (jobs !== undefined) yield* putJob(jobs, work);
  return true;
}

/**
 * Puts back what instances without a row had taken, when it may run twice, was not taken `maxTakes` times already, and nobody wants it
 * cancelled; gives which executions that were. The rest is for `interruptOrphans`.
 */
export function* rescueWork(maxTakes: number): Operation<string[]> {
  const rows = yield* all(
    db
      .updateTable("queued_work")
      .set({ state: "DUE", instance_id: null })
      .where("state", "=", "TAKEN")
      .where("idempotent", "=", 1)
      .where("takes", "<", maxTakes)
      .where((eb) => eb.and([eb.not(hasInstance(eb)), eb.not(isToBeCancelled(eb)), isRunning(eb)]))
      .returning("id"),
  );
  const ids = rows.map((row) => row.id);
  yield* queueAgain(ids);
  return ids;
}

/** Whether `deleteEndedWork` has anything to do: asked first, since it only reads. */
export function* hasEndedWork(): Operation<boolean> {
  const row = yield* first(
    db
      .selectFrom("queued_work")
      .select("id")
      .where("state", "=", "TAKEN")
      .where((eb) => eb.not(isRunning(eb)))
      .limit(1),
  );
  return row !== undefined;
}

/** Deletes work whose execution has ended; gives how much. */
export function* deleteEndedWork(): Operation<number> {
  return yield* run(
    db
      .deleteFrom("queued_work")
      .where("state", "=", "TAKEN")
      .where((eb) => eb.not(isRunning(eb))),
  );
}

/** The same for what this instance has just ended. */
export function* deleteWork(ids: readonly string[], instanceId: string): Operation<number> {
  return yield* run(db.deleteFrom("queued_work").where("id", "in", ids).where("instance_id", "=", instanceId));
}

/** Deletes work that nobody has taken, and ends its execution as CANCELLED; gives whether it did. */
export function* cancelWaitingWork(id: string, nowIso: string, jobs: string | undefined): Operation<boolean> {
  const deleted = yield* run(db.deleteFrom("queued_work").where("id", "=", id).where("state", "!=", "TAKEN"));
  if (deleted === 0) return false;
  if (jobs !== undefined) yield* removeJob(jobs, id);
  return yield* endUnrun(id, "SKILL_CANCELLED", "The execution was cancelled before it ran.", nowIso);
}

/** How much work names a skill. */
export function* countWorkOf(skillId: string): Operation<number> {
  const row = yield* first(
    db
      .selectFrom("queued_work")
      .select((eb) => eb.fn.countAll().as("count"))
      .where("skill_id", "=", skillId),
  );
  return Number(row?.count ?? 0);
}

function* queueAgain(ids: readonly string[]): Operation<void> {
  for (const id of ids)
    yield* run(db.updateTable("skill_executions").set({ status: "QUEUED" }).where("id", "=", id).where("status", "=", "RUNNING"));
}

type Work = ExpressionBuilder<Tables, "queued_work">;

function hasInstance({ exists, selectFrom }: Work) {
  return exists(selectFrom("instances").select("instances.id").whereRef("instances.id", "=", "queued_work.instance_id"));
}

function isToBeCancelled({ exists, selectFrom }: Work) {
  return exists(
    selectFrom("cancel_requests")
      .select("cancel_requests.execution_id")
      .whereRef("cancel_requests.execution_id", "=", "queued_work.id"),
  );
}

function isRunning({ exists, selectFrom }: Work) {
  return exists(
    selectFrom("skill_executions")
      .select("skill_executions.id")
      .whereRef("skill_executions.id", "=", "queued_work.id")
      .where("skill_executions.status", "=", "RUNNING"),
  );
}
