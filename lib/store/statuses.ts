import { type ExpressionBuilder, type RawBuilder, sql } from "kysely";
import type { ExecutionStatus } from "../types.js";
import type { Tables } from "./rows.js";

/** A status written into the SQL text and not bound, so that it can be part of an index and of a prepared statement. */
export function literal(status: ExecutionStatus): RawBuilder<string> {
  return sql.lit(status);
}

/** In the words of the partial index on unfinished executions, without which no database would use it. */
export function isUnfinished(eb: ExpressionBuilder<Tables, "skill_executions">) {
  return eb("skill_executions.status", "in", [literal("QUEUED"), literal("RUNNING")]);
}
