import type { ExpressionBuilder } from "kysely";
import { all, db, first, run } from "./query.js";
import type { InstanceRow, Tables } from "./rows.js";
import { isUnfinished } from "./statuses.js";
import type { Operation } from "./store.js";

export function* insertInstance(row: InstanceRow): Operation<void> {
  yield* run(db.insertInto("instances").values(row));
}

/** Gives false when the row is gone: another process took this instance for dead. Insert it again then. */
export function* beatInstance(id: string, nowIso: string): Operation<boolean> {
  return (yield* run(db.updateTable("instances").set({ heartbeat_at: nowIso }).where("id", "=", id))) > 0;
}

/** Gives whether the row was there. */
export function* deleteInstance(id: string): Operation<boolean> {
  return (yield* run(db.deleteFrom("instances").where("id", "=", id))) > 0;
}

/** Oldest heartbeat first. */
export function* listInstances(): Operation<InstanceRow[]> {
  return yield* all(db.selectFrom("instances").selectAll().orderBy("heartbeat_at").orderBy("id"));
}

/** Marks what dead instances were running; gives how many. */
export function* interruptExecutionsOf(instanceIds: readonly string[], nowIso: string): Operation<number> {
  if (instanceIds.length === 0) return 0;
  return yield* run(interrupt(nowIso).where("instance_id", "in", instanceIds));
}

/** Marks what instances that no longer have a row were running; gives how many. An instance inserts its row before it runs anything. */
export function* interruptOrphans(nowIso: string): Operation<number> {
  return yield* run(interrupt(nowIso).where((eb) => isOrphan(eb)));
}

/** Whether `interruptOrphans` has anything to do. */
export function* hasOrphans(): Operation<boolean> {
  const row = yield* first(
    db
      .selectFrom("skill_executions")
      .select("id")
      .where(isUnfinished)
      .where("status", "=", "RUNNING")
      .where((eb) => isOrphan(eb))
      .limit(1),
  );
  return row !== undefined;
}

function isOrphan({ not, exists, selectFrom }: ExpressionBuilder<Tables, "skill_executions">) {
  return not(
    exists(selectFrom("instances").select("instances.id").whereRef("instances.id", "=", "skill_executions.instance_id")),
  );
}

function interrupt(nowIso: string) {
  return db
    .updateTable("skill_executions")
    .set({
      status: "INTERRUPTED",
      error_code: "SKILL_INTERRUPTED",
      error_message: "The server stopped while the skill was running",
      finished_at: nowIso,
    })
    .where(isUnfinished)
    .where("status", "=", "RUNNING");
}
