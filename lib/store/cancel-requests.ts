import { all, db, first, run } from "./query.js";
import type { Operation } from "./store.js";

/** Asks the instance that runs an execution to end it; gives whether one runs it. */
export function* requestCancel(executionId: string, nowIso: string): Operation<boolean> {
  const running = yield* first(
    db
      .selectFrom("skill_executions")
      .innerJoin("instances", "instances.id", "skill_executions.instance_id")
      .select("skill_executions.instance_id")
      .where("skill_executions.id", "=", executionId)
      .where("skill_executions.status", "=", "RUNNING"),
  );
  if (running === undefined) return false;
  yield* run(
    db
      .insertInto("cancel_requests")
      .values({ execution_id: executionId, instance_id: running.instance_id, requested_at: nowIso })
      .onConflict((conflict) =>
        conflict.column("execution_id").doUpdateSet({ instance_id: running.instance_id, requested_at: nowIso }),
      ),
  );
  return true;
}

/** Which executions an instance shall end. */
export function* listCancelRequests(instanceId: string): Operation<string[]> {
  const rows = yield* all(db.selectFrom("cancel_requests").select("execution_id").where("instance_id", "=", instanceId));
  return rows.map((row) => row.execution_id);
}

export function* deleteCancelRequests(executionIds: readonly string[]): Operation<void> {
  yield* run(db.deleteFrom("cancel_requests").where("execution_id", "in", executionIds));
}

/** Deletes those that nobody is left to follow. */
export function* deleteOrphanedCancelRequests(): Operation<void> {
  yield* run(
    db
      .deleteFrom("cancel_requests")
      .where(({ not, exists, selectFrom }) =>
        not(exists(selectFrom("instances").select("instances.id").whereRef("instances.id", "=", "cancel_requests.instance_id"))),
      ),
  );
}
