import {
  type CompiledQuery,
  type ExpressionBuilder,
  type OnConflictBuilder,
  type OnConflictDatabase,
  type OnConflictTables,
  sql,
} from "kysely";
import { db } from "./query.js";
import type { ExecutionRow, Tables } from "./rows.js";
import { literal } from "./statuses.js";

/** The columns of an execution, in the order in which the upsert binds them. */
export const executionColumns = [
  "id",
  "skill_id",
  "skill_name",
  "skill_version",
  "api_key_id",
  "session_id",
  "request_id",
  "parent_id",
  "root_id",
  "instance_id",
  "status",
  "input",
  "input_state",
  "output",
  "output_state",
  "error_code",
  "error_message",
  "attempts",
  "duration_ms",
  "idempotency_key",
  "request_hash",
  "created_at",
  "finished_at",
  "sandbox",
  "log",
] as const satisfies readonly (keyof ExecutionRow)[];

/**
 * What may change after the first write. The others are left out because an index over a column that is set is written again, whether
 * the value changed or not.
 */
const changing = [
  "instance_id",
  "status",
  "input",
  "input_state",
  "output",
  "output_state",
  "error_code",
  "error_message",
  "attempts",
  "duration_ms",
  "finished_at",
  "sandbox",
  "log",
] as const satisfies readonly (keyof ExecutionRow)[];

/** One execution, inserted or brought to its next state; its parameters are `executionColumns`. */
export function compileExecutionUpsert(): CompiledQuery {
  // The values are placeholders: only the text is used.
  const row = Object.fromEntries(executionColumns.map((column) => [column, ""])) as unknown as ExecutionRow;
  return db.insertInto("skill_executions").values(row).onConflict(nextState).compile();
}

/** The same for any number of executions at once, on PostgreSQL; its parameters are an array for each of `executionColumns`. */
export function compileExecutionsUpsert(): CompiledQuery {
  const arrays = executionColumns.map((column, index) => `$${index + 1}::${arrayTypes[column] ?? "text[]"}`);
  return db
    .insertInto("skill_executions")
    .columns(executionColumns)
    .expression(sql`select * from unnest(${sql.raw(arrays.join(", "))})`)
    .onConflict(nextState)
    .compile();
}

const arrayTypes: { readonly [Column in keyof ExecutionRow]?: string } = { attempts: "int4[]", duration_ms: "float8[]" };

function nextState(conflict: OnConflictBuilder<Tables, "skill_executions">) {
  return conflict
    .column("id")
    .doUpdateSet((eb) => Object.fromEntries(changing.map((column) => [column, eb.ref(`excluded.${column}`)])))
    .where(mayFollow);
}

type Upsert = ExpressionBuilder<OnConflictDatabase<Tables, "skill_executions">, OnConflictTables<"skill_executions">>;

/** Which state may follow which. */
function mayFollow(eb: Upsert) {
  const stored = "skill_executions.status";
  const next = "excluded.status";
  return eb.or([
    eb.and([eb(stored, "in", [literal("QUEUED"), literal("RUNNING")]), eb(next, "!=", literal("QUEUED"))]),
    // Its instance was taken for dead while the call was alive: the late outcome is the truth.
    eb.and([
      eb(stored, "=", literal("INTERRUPTED")),
      eb(next, "not in", [literal("QUEUED"), literal("RUNNING"), literal("INTERRUPTED")]),
    ]),
  ]);
}
