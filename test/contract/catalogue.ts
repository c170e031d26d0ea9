import { expect, test } from "vitest";
import { db, run } from "../../lib/store/query.js";
import { readSettings, writeSetting } from "../../lib/store/settings.js";
import {
  findSkill,
  insertSkill,
  nextRevision,
  readRevision,
  readSkillContent,
  readSkillHeadsSince,
  replaceSkill,
  updateSkill,
} from "../../lib/store/skills.js";
import type { Store } from "../../lib/store/store.js";
import { skillRow } from "./rows.js";

export function catalogueContract(store: () => Store): void {
  test("the revision starts at 0 and grows by one", async () => {
    expect(await store().read(readRevision())).toBe(0);
    expect(await store().write(nextRevision)).toBe(1);
    expect(await store().write(nextRevision)).toBe(2);
    expect(await store().read(readRevision())).toBe(2);
  });

  test("a revision row that was deleted by hand starts again above every skill", async () => {
    await store().write(() => insertSkill(skillRow({ revision: 41 })));
    await store().write(() => run(db.deleteFrom("catalogue")));
    expect(await store().write(nextRevision)).toBe(42);
    expect(await store().read(readRevision())).toBe(42);
  });

  test("what changed since a revision comes without content, in the order of its changes, tombstones included", async () => {
    await store().write(function* () {
      yield* insertSkill(skillRow({ id: "b", version: "1.0.0", revision: 3 }));
      yield* insertSkill(skillRow({ id: "a", version: "2.0.0", revision: 2, deleted_at: "2026-01-02T00:00:00.000Z" }));
      yield* insertSkill(skillRow({ id: "c", version: "3.0.0", revision: 1 }));
    });
    const heads = await store().read(readSkillHeadsSince(1));
    expect(heads.map((head) => head.id)).toEqual(["a", "b"]);
    const { content: _, ...head } = skillRow({ id: "b", version: "1.0.0", revision: 3 });
    expect(heads[1]).toEqual(head);
  });

  test("content is read by id", async () => {
    await store().write(() => insertSkill(skillRow()));
    expect(await store().read(readSkillContent("skill-1"))).toEqual({
      content: '{"schema":{},"handler":"summarize"}',
      content_hash: "hash-1",
    });
    expect(await store().read(readSkillContent("nobody"))).toBeUndefined();
  });

  test("a tombstone is found, and replaced in place", async () => {
    await store().write(() => insertSkill(skillRow({ deleted_at: "2026-01-02T00:00:00.000Z" })));
    expect(await store().read(findSkill("key-a", "summarize", "1.0.0"))).toMatchObject({ id: "skill-1" });
    const fields = { content: "{}", content_hash: "hash-2", deleted_at: null, revision: 7 };
    expect(await store().write(() => replaceSkill("skill-1", fields))).toBe(true);
    expect(await store().read(findSkill("key-a", "summarize", "1.0.0"))).toEqual(skillRow(fields));
  });

  test("an update changes only what it names", async () => {
    await store().write(() => insertSkill(skillRow()));
    expect(await store().write(() => updateSkill("skill-1", { enabled: 0, revision: 2 }))).toBe(true);
    expect(await store().write(() => updateSkill("skill-1", {}))).toBe(true);
    expect(await store().write(() => updateSkill("nobody", { enabled: 0 }))).toBe(false);
    expect(await store().read(findSkill("key-a", "summarize", "1.0.0"))).toEqual(skillRow({ enabled: 0, revision: 2 }));
  });

  test("owners may use the same name and version", async () => {
    await store().write(() => insertSkill(skillRow()));
    await store().write(() => insertSkill(skillRow({ id: "skill-2", api_key_id: "key-b" })));
    expect(await store().read(findSkill("key-b", "summarize", "1.0.0"))).toMatchObject({ id: "skill-2" });
  });

  test("settings come back as the values they were, one that is not JSON is left out", async () => {
    await store().write(function* () {
      yield* writeSetting("skillsEnabled", false);
      yield* writeSetting("text", '{"looks":"like JSON"}');
      yield* writeSetting("__proto__", { polluted: true });
      yield* writeSetting("changed", 1);
      yield* writeSetting("changed", [1, null]);
      yield* writeSetting("gone", 1);
      yield* writeSetting("gone", undefined);
      yield* run(db.insertInto("settings").values({ key: "broken", value: "{not json" }));
    });
    const settings = await store().read(readSettings());
    expect(Object.entries(settings).toSorted(([a], [b]) => (a < b ? -1 : 1))).toEqual([
      ["__proto__", { polluted: true }],
      ["changed", [1, null]],
      ["skillsEnabled", false],
      ["text", '{"looks":"like JSON"}'],
    ]);
    expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false);
  });
}
