import { SkillError } from "../errors.js";
import { suggestion } from "../nearest.js";
import { countExecutions, type ExecutionFilter, findExecution, listExecutions, listNested } from "../store/executions.js";
import type { ExecutionRow } from "../store/rows.js";
import type { Store } from "../store/store.js";
import type { SkillExecution } from "../types.js";
import { fromRow } from "./record.js";

const DEFAULT_PAGE = 50;
const MAX_PAGE = 1_000;
const MAX_TREE = 1_000;

/** Which executions; all that is given must hold. */
export interface ListExecutionsFilter extends ExecutionFilter {
  /** The id of the last execution of the page before. */
  readonly cursor?: string | undefined;
  /** At most 1,000. Default 50. */
  readonly limit?: number | undefined;
  /** Whether inputs, outputs and logs are read; without, the first two are `null`, and logs are left out. Default true. */
  readonly withData?: boolean | undefined;
}

/** An execution and the calls made in it. */
export interface ExecutionTree {
  readonly execution: SkillExecution<unknown>;
  /** Oldest first. */
  readonly children: readonly ExecutionTree[];
}

const CONDITIONS = {
  apiKeyId: true,
  skillName: true,
  skillVersion: true,
  skillId: true,
  status: true,
  sessionId: true,
  requestId: true,
  parentId: true,
  rootId: true,
  createdAfter: true,
  createdBefore: true,
  cursor: true,
  limit: true,
  withData: true,
} satisfies Record<keyof ListExecutionsFilter, true>;

/** Executions as stored: redacted and cut. */
export async function readExecution(store: Store, id: string): Promise<SkillExecution<unknown> | undefined> {
  if (typeof id !== "string") return undefined;
  const row = await store.read(findExecution(id));
  return row && fromRow(row);
}

export async function readExecutions(store: Store, filter: ListExecutionsFilter): Promise<SkillExecution<unknown>[]> {
  validateFilter(filter);
  const { limit = DEFAULT_PAGE, ...conditions } = filter;
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_PAGE)
    throw new SkillError("INVALID_OPTION", `limit must be a whole number from 1 to ${MAX_PAGE}, got ${String(limit)}.`);
  const rows = await store.read(listExecutions({ ...conditions, limit }));
  return rows.map(fromRow);
}

/** The tree under an execution; `isCut` when the whole tree that it belongs to has more calls than were read. */
export async function readTree(
  store: Store,
  execution: SkillExecution<unknown>,
): Promise<ExecutionTree & { readonly isCut: boolean }> {
  const rows = await store.read(listNested(execution.rootId, MAX_TREE + 1));
  const byParent = new Map<string, SkillExecution<unknown>[]>();
  for (const nested of rows.slice(0, MAX_TREE).map(fromRow)) {
    const parentId = nested.parentId ?? "";
    // A call is younger than its parent: rows changed by hand cannot make a circle.
    if (nested.id <= parentId) continue;
    const siblings = byParent.get(parentId);
    if (siblings === undefined) byParent.set(parentId, [nested]);
    else siblings.push(nested);
  }
  const grow = (of: SkillExecution<unknown>): ExecutionTree => ({
    execution: of,
    children: (byParent.get(of.id) ?? []).map(grow),
  });
  return { ...grow(execution), isCut: rows.length > MAX_TREE };
}

export async function readCount(store: Store, filter: ExecutionFilter): Promise<number> {
  validateFilter(filter);
  return store.read(countExecutions(filter));
}

/** @throws INVALID_OPTION for a key that is no condition, since a misspelt owner would match every owner's, and for values of other types */
function validateFilter(filter: ListExecutionsFilter): void {
  if (typeof filter !== "object" || filter === null)
    throw new SkillError("INVALID_OPTION", "A filter must be an object such as { apiKeyId, status }.");
  for (const [key, value] of Object.entries(filter)) {
    if (!Object.hasOwn(CONDITIONS, key)) {
      const hint = suggestion(key, Object.keys(CONDITIONS));
      throw new SkillError("INVALID_OPTION", `Executions have no condition ${JSON.stringify(key.slice(0, 80))}${hint}`);
    }
    if (key === "limit" || value === undefined) continue;
    if (key === "withData" ? typeof value === "boolean" : typeof value === "string") continue;
    if (key === "status" && Array.isArray(value) && value.every((status) => typeof status === "string")) continue;
    const wanted = key === "withData" ? "true or false" : `a string${key === "status" ? " or a list of them" : ""}`;
    throw new SkillError("INVALID_OPTION", `The condition ${key} must be ${wanted}.`);
  }
}

/**
 * The row of an execution that can be run again: with its input whole.
 * @throws EXECUTION_NOT_FOUND INPUT_NOT_STORED
 */
export async function readRepeatable(store: Store, id: string): Promise<{ readonly row: ExecutionRow; readonly input: unknown }> {
  const row = typeof id === "string" ? await store.read(findExecution(id)) : undefined;
  if (row === undefined) throw executionNotFound(id);
  const { input } = row;
  if (input === null || row.input_state !== "whole") {
    const why = row.input_state === "none" ? "it was refused" : `its input was stored ${row.input_state}`;
    throw new SkillError("INPUT_NOT_STORED", `Execution ${row.id} cannot be run again: ${why}.`, { executionId: row.id });
  }
  try {
    return { row, input: JSON.parse(input) };
  } catch (cause) {
    const message = `Execution ${row.id} cannot be run again: its stored input is damaged.`;
    throw new SkillError("INPUT_NOT_STORED", message, { cause, executionId: row.id });
  }
}

export function executionNotFound(id: unknown): SkillError {
  const shown = typeof id === "string" ? JSON.stringify(id.slice(0, 100)) : "whose id is not a string";
  return new SkillError("EXECUTION_NOT_FOUND", `There is no execution ${shown}.`);
}
