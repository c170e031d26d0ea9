import { expect, test } from "vitest";
import { SkillError } from "../../lib/errors.js";
import { readSettings, writeSetting } from "../../lib/store/settings.js";
import { findSkill, insertSkill, nextRevision, readRevision } from "../../lib/store/skills.js";
import type { Store } from "../../lib/store/store.js";
import { executionRow, skillRow } from "./rows.js";

export function transactionsContract(store: () => Store): void {
  test("an operation that throws leaves nothing behind, and its own error comes out unchanged", async () => {
    const conflict = new SkillError("SKILL_CONFLICT", "This version exists with other content");
    const work = store().write(function* () {
      yield* nextRevision();
      yield* insertSkill(skillRow());
      throw conflict;
    });
    await expect(work).rejects.toBe(conflict);
    expect(await store().read(readRevision())).toBe(0);
    expect(await store().read(findSkill("key-a", "summarize", "1.0.0"))).toBeUndefined();
  });

  test("a statement that the database refuses rolls back what came before it", async () => {
    const work = store().write(function* () {
      yield* writeSetting("a", 1);
      yield* insertSkill(skillRow());
      yield* insertSkill(skillRow({ id: "skill-2" }));
    });
    await expect(work).rejects.toThrow(/unique/i);
    expect(await store().read(readSettings())).toEqual({});
  });

  test("an operation sees its own changes and gives its result", async () => {
    const seen = await store().write(function* () {
      yield* insertSkill(skillRow());
      return yield* findSkill("key-a", "summarize", "1.0.0");
    });
    expect(seen).toEqual(skillRow());
  });

  test("writes that are started together are all done, one after the other", async () => {
    const revisions = await Promise.all(Array.from({ length: 20 }, () => store().write(nextRevision)));
    expect(revisions.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
  });

  test("a closed store says so, and closes twice", async () => {
    await store().close();
    await store().close();
    const error = await store()
      .write(nextRevision)
      .catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "STORE_UNAVAILABLE" });
    expect(() => store().upsertExecutions([executionRow()])).toThrow(/closed/);
  });
}
