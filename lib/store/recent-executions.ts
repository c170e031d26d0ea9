import { columnsWithoutData, firstIdAt, withoutData } from "./executions.js";
import { all, db } from "./query.js";
import type { ExecutionRow } from "./rows.js";
import type { Operation } from "./store.js";

/** Where an execution stands: what a look at many of them reads. */
export type ExecutionState = Pick<ExecutionRow, "id" | "status" | "finished_at">;

export interface RecentStates {
  /** Newest first. */
  readonly made: readonly ExecutionState[];
  /** Latest end first. */
  readonly ended: readonly ExecutionState[];
  readonly taken: readonly ExecutionState[];
}

/**
 * Executions that were made at a time or later, those that ended at that time or later, and queued work that runs, however old: at most `limit`
 * of each. One execution may be among several. The times are those of the clocks that wrote them.
 */
export function* listRecentStates(sinceIso: string, limit: number): Operation<RecentStates> {
  const made = yield* listMadeSince(sinceIso, limit);
  const ended = yield* listEndedSince(sinceIso, limit);
  return { made, ended, taken: yield* listTaken(limit) };
}

export function* listMadeSince(sinceIso: string, limit: number): Operation<ExecutionState[]> {
  return yield* all(
    db
      .selectFrom("skill_executions")
      .select(["id", "status", "finished_at"])
      .where("id", ">=", firstIdAt(sinceIso))
      .orderBy("id", "desc")
      .limit(limit),
  );
}

export function* listEndedSince(sinceIso: string, limit: number): Operation<ExecutionState[]> {
  return yield* all(
    db
      .selectFrom("skill_executions")
      .select(["id", "status", "finished_at"])
      .where("finished_at", ">=", sinceIso)
      .orderBy("finished_at", "desc")
      .limit(limit),
  );
}

/** Queued work that an instance has: its executions have been RUNNING from the moment it was taken. */
export function* listTaken(limit: number): Operation<ExecutionState[]> {
  const rows = yield* all(db.selectFrom("queued_work").select("id").where("state", "=", "TAKEN").limit(limit));
  return rows.map(({ id }) => ({ id, status: "RUNNING", finished_at: null }));
}

/** The executions with these ids, in the order of what happened to them last; without inputs, outputs and logs. */
export function* listByIds(ids: readonly string[]): Operation<ExecutionRow[]> {
  if (ids.length === 0) return [];
  const rows = yield* all(db.selectFrom("skill_executions").select(columnsWithoutData).where("id", "in", padded(ids)));
  return rows.map(withoutData).sort((a, b) => (lastTimeOf(a) < lastTimeOf(b) ? -1 : 1));
}

/** To a length that is a power of two: each length is a statement of its own to the database. */
function padded(ids: readonly string[]): string[] {
  const length = 2 ** Math.ceil(Math.log2(ids.length));
  return Array.from({ length }, (_, index) => ids[Math.min(index, ids.length - 1)] as string);
}

function lastTimeOf({ finished_at, created_at }: ExecutionRow): string {
  return finished_at ?? created_at;
}
