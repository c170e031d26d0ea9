import { db, first, run } from "./query.js";
import type { Operation } from "./store.js";

/** Writes what executions said, over what is stored of them: pairs of an execution's id and its trace as JSON. */
export function* writeTraces(
  traces: readonly (readonly [executionId: string, trace: string])[],
  nowIso: string,
): Operation<void> {
  for (const [execution_id, trace] of traces) {
    yield* run(
      db
        .insertInto("execution_traces")
        .values({ execution_id, trace, updated_at: nowIso })
        .onConflict((conflict) => conflict.column("execution_id").doUpdateSet({ trace, updated_at: nowIso })),
    );
  }
}

export function* readTrace(executionId: string): Operation<string | undefined> {
  const row = yield* first(db.selectFrom("execution_traces").select("trace").where("execution_id", "=", executionId));
  return row?.trace;
}

/** Deletes traces of ended executions that were last written before a time; gives how many. */
export function* pruneTraces(beforeIso: string): Operation<number> {
  return yield* run(
    db
      .deleteFrom("execution_traces")
      .where("updated_at", "<", beforeIso)
      .where(({ not, exists, selectFrom }) =>
        not(
          exists(
            selectFrom("skill_executions")
              .select("skill_executions.id")
              .whereRef("skill_executions.id", "=", "execution_traces.execution_id")
              .where("skill_executions.finished_at", "is", null),
          ),
        ),
      ),
  );
}
