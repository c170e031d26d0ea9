import { SkillError } from "../errors.js";
import { countExecutions, type ExecutionFilter, findExecution, listExecutions } from "../store/executions.js";
import type { ExecutionRow } from "../store/rows.js";
import type { Store } from "../store/store.js";
import type { SkillExecution } from "../types.js";
import { fromRow } from "./record.js";

const DEFAULT_PAGE = 50;
const MAX_PAGE = 1_000;

/** Which executions; all that is given must hold. */
export interface ListExecutionsFilter extends ExecutionFilter {
  /** The id of the last execution of the page before. */
  readonly cursor?: string | undefined;
  /** At most 1,000. Default 50. */
  readonly limit?: number | undefined;
}

/** Executions as stored: redacted and cut. */
export async function readExecution(store: Store, id: string): Promise<SkillExecution<unknown> | undefined> {
  const row = await store.read(findExecution(id));
  return row && fromRow(row);
}

export async function readExecutions(store: Store, filter: ListExecutionsFilter): Promise<SkillExecution<unknown>[]> {
  const { limit = DEFAULT_PAGE, ...conditions } = filter;
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_PAGE)
    throw new SkillError("INVALID_OPTION", `limit must be a whole number from 1 to ${MAX_PAGE}, got ${String(limit)}.`);
  const rows = await store.read(listExecutions({ ...conditions, limit }));
  return rows.map(fromRow);
}

export async function readCount(store: Store, filter: ExecutionFilter): Promise<number> {
  return store.read(countExecutions(filter));
}

/**
 * The row of an execution that can be run again: with its input whole.
 * @throws EXECUTION_NOT_FOUND INPUT_NOT_STORED
 */
export async function readRepeatable(store: Store, id: string): Promise<ExecutionRow & { input: string }> {
  const row = await store.read(findExecution(id));
  if (row === undefined)
    throw new SkillError("EXECUTION_NOT_FOUND", `There is no execution ${JSON.stringify(String(id).slice(0, 100))}.`);
  const { input } = row;
  if (input === null || row.input_state !== "whole") {
    const why = row.input_state === "none" ? "it was refused" : `its input was stored ${row.input_state}`;
    throw new SkillError("INPUT_NOT_STORED", `Execution ${row.id} cannot be run again: ${why}.`, { executionId: row.id });
  }
  return { ...row, input };
}
