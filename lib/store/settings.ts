import { all, db, run } from "./query.js";
import type { Operation } from "./store.js";

/** Every setting, parsed. A value that is not JSON (changed by hand) is left out, as if it had never been set. */
export function* readSettings(): Operation<Record<string, unknown>> {
  const rows = yield* all(db.selectFrom("settings").select(["key", "value"]));
  // Without a prototype, so that a key like `__proto__` is only a key.
  const settings = Object.create(null) as Record<string, unknown>;
  for (const { key, value } of rows) {
    try {
      settings[key] = JSON.parse(value);
    } catch {}
  }
  return settings;
}

/** `value` must be JSON; `undefined` removes the setting. Take `nextRevision()` in the same transaction. */
export function* writeSetting(key: string, value: unknown): Operation<void> {
  const text = JSON.stringify(value) as string | undefined;
  if (text === undefined) {
    yield* run(db.deleteFrom("settings").where("key", "=", key));
    return;
  }
  yield* run(
    db
      .insertInto("settings")
      .values({ key, value: text })
      .onConflict((conflict) => conflict.column("key").doUpdateSet({ value: text })),
  );
}
