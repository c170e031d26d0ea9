import { sql } from "kysely";
import { addJob } from "./jobs.js";
import type { PostgresQuery, PostgresResult } from "./postgres-driver.js";
import { prepare } from "./postgres-query.js";
import { db } from "./query.js";
import type { ExecutionRow, QueuedWorkRow } from "./rows.js";
import type { WorkStatements, WorkToTake } from "./store.js";
import { executionColumns } from "./upsert.js";

const workColumns = [
  "id",
  "api_key_id",
  "session_id",
  "request_id",
  "skill_id",
  "skill_owner",
  "skill_name",
  "skill_version",
  "handler",
  "input",
  "timeout_ms",
  "state",
  "run_at",
  "priority",
  "job_key",
  "instance_id",
  "takes",
  "idempotent",
  "created_at",
] as const satisfies readonly (keyof QueuedWorkRow)[];

interface WorkToInsert {
  readonly execution: ExecutionRow;
  readonly work: QueuedWorkRow;
}

interface Taking extends WorkToTake {
  readonly instanceId: string;
}

/**
 * @param write runs a statement as a transaction by itself
 * @param schema of graphile-worker's jobs
 */
export function createPostgresWork(write: (query: PostgresQuery) => Promise<PostgresResult>, schema: string): WorkStatements {
  const insert = prepareInsert(schema);
  const take = prepareTake();
  const remove = prepareDelete();
  return {
    async insertWork(execution, work) {
      const [skill] = (await write(insert({ execution, work }))).rows;
      if (skill === undefined) return "gone";
      return skill["work_id"] === null ? "key-taken" : "done";
    },
    async takeWork(wanted, instanceId) {
      const [taken] = (await write(take({ ...wanted, instanceId }))).rows;
      if (taken === undefined) return undefined;
      const { begun_id: begunId, ...work } = taken;
      if (begunId !== null) return work as unknown as QueuedWorkRow;
      await write(remove({ ids: [wanted.id], instanceId }));
      return undefined;
    },
    async deleteWork(ids, instanceId) {
      await write(remove({ ids, instanceId }));
    },
  };
}

/** Gives no row when the skill is gone, and one without a `work_id` when the id or the owner's idempotency key is taken. */
function prepareInsert(schema: string): (values: WorkToInsert) => PostgresQuery {
  return prepare<WorkToInsert>("express-skills/insert-work", (blank) =>
    db
      .with("living", (on) =>
        // Nobody may unregister it before this statement has ended.
        on
          .selectFrom("skills")
          .select("id")
          .where(
            "id",
            "=",
            blank(({ work }) => work.skill_id),
          )
          .where("deleted_at", "is", null)
          .forShare(),
      )
      .with("begun", (on) =>
        on
          .insertInto("skill_executions")
          .columns(executionColumns)
          .expression((eb) =>
            eb
              .selectFrom("living")
              .select(executionColumns.map((column) => sql.val(blank(({ execution }) => execution[column])).as(column))),
          )
          .onConflict((conflict) => conflict.doNothing())
          .returning("id"),
      )
      .with("work", (on) =>
        on
          .insertInto("queued_work")
          .columns(workColumns)
          .expression((eb) =>
            eb.selectFrom("begun").select(workColumns.map((column) => sql.val(blank(({ work }) => work[column])).as(column))),
          )
          .returning("id"),
      )
      .selectFrom("living")
      .leftJoin("work", (join) => join.onTrue())
      .select("work.id as work_id")
      .select(
        sql`case when work.id is not null then (${addJob(schema, (field) => blank(({ work }) => field(work)))}).id end`.as(
          "job_id",
        ),
      )
      .compile(),
  );
}

/** Gives a row without a `begun_id` when the execution waits no more. */
function prepareTake(): (values: Taking) => PostgresQuery {
  return prepare<Taking>("express-skills/take-work", (blank) =>
    db
      .with("work", (on) =>
        on
          .updateTable("queued_work")
          .set((eb) => ({
            state: "TAKEN",
            instance_id: blank(({ instanceId }) => instanceId),
            job_key: null,
            takes: eb("takes", "+", 1),
            idempotent: blank(({ idempotent }) => (idempotent ? 1 : 0)),
          }))
          .where(
            "id",
            "=",
            blank(({ id }) => id),
          )
          .where("state", "!=", "TAKEN")
          .returning(workColumns),
      )
      .with("begun", (on) =>
        on
          .updateTable("skill_executions")
          .set({ status: "RUNNING", instance_id: blank(({ instanceId }) => instanceId) })
          .where(
            "id",
            "=",
            blank(({ id }) => id),
          )
          .where("status", "=", "QUEUED")
          .where(({ exists, selectFrom }) => exists(selectFrom("work").select("work.id")))
          .returning("id"),
      )
      .selectFrom("work")
      .leftJoin("begun", "begun.id", "work.id")
      .selectAll("work")
      .select("begun.id as begun_id")
      .compile(),
  );
}

interface Deleting {
  readonly ids: readonly string[];
  readonly instanceId: string;
}

function prepareDelete(): (values: Deleting) => PostgresQuery {
  return prepare<Deleting>("express-skills/delete-work", (blank) =>
    db
      .deleteFrom("queued_work")
      .where(sql<boolean>`id = any(${blank(({ ids }) => ids)}::text[])`)
      .where(
        "instance_id",
        "=",
        blank(({ instanceId }) => instanceId),
      )
      .compile(),
  );
}
