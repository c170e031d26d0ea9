import type { Expression, ExpressionBuilder, SqlBool } from "kysely";
import { SkillError } from "../errors.js";
import type { ExecutionStatus } from "../types.js";
import { all, db, first, run } from "./query.js";
import type { ExecutionRow, Tables } from "./rows.js";
import { isUnfinished } from "./statuses.js";
import type { Operation } from "./store.js";
import { executionColumns } from "./upsert.js";

export function* findExecution(id: string): Operation<ExecutionRow | undefined> {
  return yield* first(db.selectFrom("skill_executions").selectAll().where("id", "=", id));
}

export function* findByIdempotencyKey(apiKeyId: string, key: string): Operation<ExecutionRow | undefined> {
  return yield* first(
    db
      .selectFrom("skill_executions")
      .selectAll()
      .where("api_key_id", "=", apiKeyId)
      .where("idempotency_key", "=", key)
      .where("idempotency_key", "is not", null),
  );
}

/** Gives false, and changes nothing, when the id or the owner's idempotency key is taken. */
export function* insertExecution(row: ExecutionRow): Operation<boolean> {
  return (
    (yield* run(
      db
        .insertInto("skill_executions")
        .values(row)
        .onConflict((conflict) => conflict.doNothing()),
    )) > 0
  );
}

/** Ends a QUEUED execution as CANCELLED, whose handler never ran; gives whether it was QUEUED. */
export function* endUnrun(id: string, code: string, message: string, nowIso: string): Operation<boolean> {
  const ended = { status: "CANCELLED", error_code: code, error_message: message, finished_at: nowIso };
  return (yield* run(db.updateTable("skill_executions").set(ended).where("id", "=", id).where("status", "=", "QUEUED"))) > 0;
}

/** Which executions; all that is given must hold. */
export interface ExecutionFilter {
  readonly apiKeyId?: string | undefined;
  /** Indexed; give it with `skillVersion` or `skillId` where it is known. */
  readonly skillName?: string | undefined;
  readonly skillVersion?: string | undefined;
  readonly skillId?: string | undefined;
  /** An empty list holds for none. */
  readonly status?: ExecutionStatus | readonly ExecutionStatus[] | undefined;
  readonly sessionId?: string | undefined;
  readonly requestId?: string | undefined;
  readonly parentId?: string | undefined;
  /** The whole tree: the first execution and everything under it. */
  readonly rootId?: string | undefined;
  /** ISO 8601 UTC, inclusive; compared with the time in the id. */
  readonly createdAfter?: string | undefined;
  /** ISO 8601 UTC, exclusive; compared with the time in the id. */
  readonly createdBefore?: string | undefined;
}

export interface ExecutionPage {
  /** The last id of the page before: only older ones follow. */
  readonly cursor?: string | undefined;
  readonly limit: number;
  /** Whether inputs, outputs and logs are read; without, they are null. Default true. */
  readonly withData?: boolean | undefined;
}

type DataColumn = "input" | "output" | "log";

/** What lists read. */
export const columnsWithoutData = executionColumns.filter(
  (column): column is Exclude<(typeof executionColumns)[number], DataColumn> => !["input", "output", "log"].includes(column),
);

/** Newest first. */
export function* listExecutions(filter: ExecutionFilter & ExecutionPage): Operation<ExecutionRow[]> {
  const { cursor, limit, withData = true } = filter;
  let query = db.selectFrom("skill_executions").where((eb) => eb.and(conditions(eb, filter)));
  if (cursor !== undefined) query = query.where("id", "<", cursor);
  const page = query.orderBy("id", "desc").limit(limit);
  if (withData) return yield* all(page.selectAll());
  return (yield* all(page.select(columnsWithoutData))).map(withoutData);
}

/** The calls made in the handlers of a tree, whose root is not among them: oldest first, without inputs and outputs. */
export function* listNested(rootId: string, limit: number): Operation<ExecutionRow[]> {
  const rows = yield* all(
    db
      .selectFrom("skill_executions")
      .select(columnsWithoutData)
      .where("root_id", "=", rootId)
      .where("parent_id", "is not", null)
      .orderBy("id")
      .limit(limit),
  );
  return rows.map(withoutData);
}

/** Ignores the page. */
export function* countExecutions(filter: ExecutionFilter): Operation<number> {
  const row = yield* first(
    db
      .selectFrom("skill_executions")
      .select((eb) => eb.fn.countAll().as("count"))
      .where((eb) => eb.and(conditions(eb, filter))),
  );
  return Number(row?.count ?? 0);
}

/** Deletes the oldest executions made before a time, at most `limit` in one go, none that is queued or running; gives how many. */
export function* pruneExecutions(beforeIso: string, limit: number): Operation<number> {
  return yield* run(
    db.deleteFrom("skill_executions").where("id", "in", (eb) =>
      eb
        .selectFrom("skill_executions")
        .select("skill_executions.id")
        .where("skill_executions.id", "<", firstIdAt(beforeIso))
        .where((inner) => inner.not(isUnfinished(inner)))
        .orderBy("skill_executions.id")
        .limit(limit),
    ),
  );
}

export function withoutData(row: Omit<ExecutionRow, DataColumn>): ExecutionRow {
  return { ...row, input: null, output: null, log: null };
}

/** What holds of the executions that a filter means. */
export function conditions(eb: ExpressionBuilder<Tables, "skill_executions">, filter: ExecutionFilter): Expression<SqlBool>[] {
  const found: Expression<SqlBool>[] = [];
  for (const [field, column] of equalColumns) {
    const value = filter[field];
    if (value !== undefined) found.push(eb(column, "=", value));
  }
  const { status, rootId, createdAfter, createdBefore } = filter;
  if (typeof status === "string") found.push(eb("status", "=", status));
  else if (status) found.push(status.length > 0 ? eb("status", "in", status) : eb.lit(false));
  if (rootId !== undefined) {
    // The index on roots holds nested executions only; the root itself is found by its id.
    found.push(eb.or([eb("id", "=", rootId), eb.and([eb("root_id", "=", rootId), eb("parent_id", "is not", null)])]));
  }
  if (createdAfter !== undefined) found.push(eb("id", ">=", firstIdAt(createdAfter)));
  if (createdBefore !== undefined) found.push(eb("id", "<", firstIdAt(createdBefore)));
  return found;
}

const equalColumns = [
  ["apiKeyId", "api_key_id"],
  ["skillName", "skill_name"],
  ["skillVersion", "skill_version"],
  ["skillId", "skill_id"],
  ["sessionId", "session_id"],
  ["requestId", "request_id"],
  ["parentId", "parent_id"],
] as const satisfies readonly (readonly [keyof ExecutionFilter, keyof ExecutionRow])[];

/**
 * What every UUIDv7 (RFC 9562) of a time or later sorts at or after: its first 48 bits are the milliseconds since the epoch. Times
 * before the epoch count as the epoch.
 */
export function firstIdAt(iso: string): string {
  const ms = Math.min(Math.max(Date.parse(iso), 0), 2 ** 48 - 1);
  if (Number.isNaN(ms))
    throw new SkillError("INVALID_OPTION", `${JSON.stringify(iso)} is not a time. Write ISO 8601, like 2026-01-31T00:00:00Z.`);
  const hex = ms.toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}`;
}
