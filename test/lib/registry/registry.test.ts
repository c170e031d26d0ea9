import { describe, expect, onTestFinished, test } from "vitest";
import { openRegistry, type SkillFilter, SkillRegistry } from "../../../lib/registry/registry.js";
import { openStore } from "../../../lib/store/open.js";
import { all, db, run } from "../../../lib/store/query.js";
import type { Store } from "../../../lib/store/store.js";
import type { Logger, SkillDefinition, SkillHead } from "../../../lib/types.js";
import { databaseKind, newDatabase } from "../../fixtures/database.js";
import { until } from "../../fixtures/kit.js";
import { collectGarbage } from "./garbage.js";

const definition = {
  name: "summarize",
  schema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  handler: "summarizeHandler",
} satisfies SkillDefinition;

interface LogLine {
  readonly level: string;
  readonly fields: object;
  readonly message: string;
}

function recordingLogger(): { logger: Logger; lines: LogLine[] } {
  const lines: LogLine[] = [];
  const at = (level: string) => (fields: object, message: string) => void lines.push({ level, fields, message });
  return { logger: { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") }, lines };
}

/** A registry whose clock the test moves. */
async function open(database = newDatabase(":memory:")) {
  const store = await openStore({ database, durability: "process" });
  onTestFinished(() => store.close());
  const clock = { ms: 0 };
  const { logger, lines } = recordingLogger();
  const registry = new SkillRegistry({ store, logger, now: () => clock.ms });
  await registry.open();
  return { registry, store, clock, lines };
}

const resolve = (registry: SkillRegistry, reference: string, caller = "default") =>
  registry.resolve(registry.parse(reference), caller) as SkillHead;
const finds = (registry: SkillRegistry, reference: string) => {
  try {
    return resolve(registry, reference).version !== undefined;
  } catch {
    return false;
  }
};
const countRows = async (store: Store) => (await store.read(all(db.selectFrom("skills").select("id")))).length;

describe("registering", () => {
  test("gives the complete skill, which is found at once without a promise", async () => {
    const { registry } = await open();
    const skill = await registry.register({ ...definition, description: "d", tags: ["x", "x"], timeoutMs: 5 });
    expect(skill).toMatchObject({
      ...definition,
      version: "1.0.0",
      apiKeyId: "system",
      enabled: true,
      mode: "on",
      tags: ["x"],
      timeoutMs: 5,
      outputSchema: null,
    });
    const head = resolve(registry, "summarize@^1");
    expect(head).toMatchObject({ id: skill.id, version: "1.0.0" });
    const runnable = registry.runnable(head);
    expect(runnable).not.toBeInstanceOf(Promise);
    expect(runnable).toMatchObject({ skill });
    expect(registry.runnable(head)).toBe(runnable);
  });

  test("the same content again changes nothing, so that a start of the app does not undo an operator's switch", async () => {
    const { registry, store } = await open();
    const skill = await registry.register(definition);
    await registry.setEnabled("summarize", "1.0.0", false);
    await registry.setMode("summarize", "1.0.0", "auto");
    await registry.update("summarize", "1.0.0", { description: "mine", tags: ["t"] });
    const again = await registry.register({ ...definition, description: "theirs", tags: [], enabled: true, mode: "on" });
    expect(again).toMatchObject({ id: skill.id, enabled: false, mode: "auto", description: "mine", tags: ["t"] });
    expect(await countRows(store)).toBe(1);
  });

  test("the order of keys is no difference in content", async () => {
    const { registry } = await open();
    const first = await registry.register(definition);
    const { schema } = definition;
    const again = await registry.register({
      ...definition,
      schema: { required: schema.required, properties: schema.properties, type: schema.type },
    });
    expect(again.contentHash).toBe(first.contentHash);
  });

  test("other content is a conflict that names the fields, and replace overwrites it", async () => {
    const { registry } = await open();
    const first = await registry.register(definition);
    const changed = { ...definition, handler: "other", timeoutMs: 9 };
    await expect(registry.register(changed)).rejects.toMatchObject({
      code: "SKILL_CONFLICT",
      message: expect.stringMatching(/different: handler, timeoutMs\).*replace: true/),
    });
    await registry.setMode("summarize", "1.0.0", "auto");
    const replaced = await registry.register(changed, { replace: true });
    expect(replaced).toMatchObject({ id: first.id, handler: "other", mode: "auto", createdAt: first.createdAt });
    expect(await registry.resolveVersion("summarize", "latest")).toEqual(replaced);
  });

  test("a hundred at once of the same definition make one row", async () => {
    const { registry, store } = await open();
    const skills = await Promise.all(Array.from({ length: 100 }, () => registry.register(definition)));
    expect(new Set(skills.map(({ id }) => id)).size).toBe(1);
    expect(await countRows(store)).toBe(1);
  });

  test("a schema that is none is refused with a pointer into the definition, and leaves nothing", async () => {
    const { registry, store } = await open();
    const bad = { ...definition, schema: { content: "string" }, outputSchema: { $ref: "https://example.org" } };
    await expect(registry.register(bad)).rejects.toMatchObject({
      code: "INVALID_DEFINITION",
      faults: [
        expect.objectContaining({ pointer: "/schema/content" }),
        expect.objectContaining({ pointer: "/outputSchema/$ref" }),
      ],
    });
    expect(await countRows(store)).toBe(0);
    expect(() => resolve(registry, "summarize")).toThrow(expect.objectContaining({ code: "SKILL_NOT_FOUND" }));
  });

  test("what a registrant may not have, the operator's own code may", async () => {
    const { registry } = await open();
    const lookAround = { ...definition, schema: { type: "string", pattern: "^(?=.*\\d).+$" } };
    await expect(registry.register(lookAround)).rejects.toMatchObject({ code: "INVALID_DEFINITION" });
    const skill = await registry.register(lookAround, { patterns: "native" });
    expect(skill.patterns).toBe("native");
    await registry.invalidateCache();
    const runnable = await registry.runnable(resolve(registry, "summarize"));
    expect([runnable.validateInput("a1"), runnable.validateInput("a")]).toEqual([[], [expect.objectContaining({ pointer: "" })]]);
  });

  test("a scoped name is found by its ranges", async () => {
    const { registry } = await open();
    await registry.register({ ...definition, name: "@org/tool", version: "1.2.0" });
    expect(resolve(registry, "@org/tool@^1").version).toBe("1.2.0");
    expect(await registry.getSkill("@org/tool")).toMatchObject({ name: "@org/tool" });
  });
});

describe("unregistering", () => {
  test("removes one version, or all, of one owner", async () => {
    const { registry } = await open();
    for (const version of ["1.0.0", "1.1.0", "2.0.0"]) await registry.register({ ...definition, version });
    await registry.register({ ...definition, apiKeyId: "own" });
    expect(await registry.unregister("summarize", "1.1.0")).toBe(1);
    expect(resolve(registry, "summarize@^1").version).toBe("1.0.0");
    expect(await registry.unregister("summarize", "1.1.0")).toBe(0);
    expect(await registry.unregister("summarize")).toBe(2);
    expect(() => resolve(registry, "summarize")).toThrow("There is no skill summarize.");
    expect(resolve(registry, "summarize", "own").apiKeyId).toBe("own");
    expect(await registry.unregister("nothing")).toBe(0);
    expect(await registry.unregister("summarize", undefined, "stranger")).toBe(0);
  });

  test("leaves a tombstone: the same content revives it, other content needs replace", async () => {
    const { registry } = await open();
    const first = await registry.register({ ...definition, mode: "off" });
    await registry.unregister("summarize");
    await expect(registry.register({ ...definition, handler: "other" })).rejects.toMatchObject({
      code: "SKILL_CONFLICT",
      message: expect.stringContaining("was unregistered with other content"),
    });
    expect(await registry.register({ ...definition, mode: "auto", tags: ["new"] })).toMatchObject({
      id: first.id,
      mode: "auto",
      tags: ["new"],
    });
    expect(resolve(registry, "summarize").mode).toBe("auto");
    await registry.unregister("summarize");
    expect(await registry.register({ ...definition, handler: "other" }, { replace: true })).toMatchObject({
      id: first.id,
      handler: "other",
    });
  });
});

describe("looking up", () => {
  test("list meets every condition", async () => {
    const { registry } = await open();
    await registry.register({ ...definition, version: "1.0.0", tags: ["nlp"] });
    await registry.register({ ...definition, version: "2.0.0", enabled: false });
    await registry.register({ ...definition, name: "other", mode: "off" });
    await registry.register({ ...definition, apiKeyId: "own" });
    const list = async (filter?: SkillFilter) =>
      (await registry.list(filter)).map(({ apiKeyId, name, version }) => `${apiKeyId}:${name}@${version}`);
    expect(await list()).toEqual([
      "system:other@1.0.0",
      "own:summarize@1.0.0",
      "system:summarize@2.0.0",
      "system:summarize@1.0.0",
    ]);
    expect(await list({ apiKeyId: "own" })).toEqual(["own:summarize@1.0.0"]);
    expect(await list({ visibleTo: "own" })).toEqual(["system:other@1.0.0", "own:summarize@1.0.0"]);
    expect(await list({ visibleTo: "own", name: "summarize" })).toEqual(["own:summarize@1.0.0"]);
    expect(await list({ tag: "nlp" })).toEqual(["system:summarize@1.0.0"]);
    expect(await list({ mode: "off" })).toEqual(["system:other@1.0.0"]);
    expect(await list({ enabled: false, name: undefined })).toEqual(["system:summarize@2.0.0"]);
    await expect(registry.list({ nam: "x" } as SkillFilter)).rejects.toMatchObject({
      code: "INVALID_OPTION",
      message: expect.stringContaining('"name"'),
    });
  });

  test("getSkill finds a disabled version by its exact reference only, and nothing is undefined", async () => {
    const { registry } = await open();
    await registry.register({ ...definition, enabled: false });
    expect(await registry.getSkill("summarize@1.0.0")).toMatchObject({ enabled: false, schema: definition.schema });
    expect(await registry.getSkill("summarize")).toBeUndefined();
    expect(await registry.getSkill("nothing")).toBeUndefined();
    await expect(registry.getSkill("a@@")).rejects.toMatchObject({ code: "INVALID_REFERENCE" });
  });

  test("versions are listed newest first, for the caller who sees them", async () => {
    const { registry } = await open();
    for (const version of ["1.0.0", "10.0.0", "2.0.0", "2.0.0-rc.1"]) await registry.register({ ...definition, version });
    expect((await registry.getSkillVersions("summarize")).map(({ version }) => version)).toEqual([
      "10.0.0",
      "2.0.0",
      "2.0.0-rc.1",
      "1.0.0",
    ]);
    expect(await registry.getSkillVersions("nothing")).toEqual([]);
    await expect(registry.resolveVersion("summarize", "v1.0")).rejects.toMatchObject({ code: "INVALID_REFERENCE" });
    expect(await registry.resolveVersion("summarize", "^2")).toMatchObject({ version: "2.0.0" });
  });

  test("a change of what does not exist, or belongs to another owner, is refused", async () => {
    const { registry } = await open();
    await registry.register({ ...definition, apiKeyId: "own" });
    for (const change of [
      () => registry.setEnabled("summarize", "1.0.0", false),
      () => registry.setMode("summarize", "9.0.0", "off", "own"),
      () => registry.update("summarize", "1.0.0", { description: "x" }, "stranger"),
      () => registry.setMode(undefined as unknown as string, "1.0.0", "off"),
    ]) {
      await expect(change()).rejects.toMatchObject({ code: "SKILL_NOT_FOUND" });
    }
    await expect(registry.setMode("summarize", "1.0.0", "maybe" as "on", "own")).rejects.toMatchObject({
      code: "INVALID_DEFINITION",
    });
    await expect(registry.update("summarize", "1.0.0", { tag: [] } as object, "own")).rejects.toMatchObject({
      faults: [{ pointer: "/tag", message: expect.stringContaining('"tags"') }],
    });
  });
});

describe("two registries on one database", () => {
  test("a change is seen by the other after a second, and its own at once", async () => {
    const database = newDatabase();
    const [mine, other] = [await open(database), await open(database)];
    await mine.registry.register(definition);
    expect(resolve(mine.registry, "summarize").version).toBe("1.0.0");
    // PostgreSQL tells the other one at once.
    if (databaseKind === "sqlite") expect(finds(other.registry, "summarize")).toBe(false);
    other.clock.ms += 1_001;
    await until(() => finds(other.registry, "summarize"));
    await mine.registry.setSkillsEnabled(false);
    expect(mine.registry.skillsEnabled).toBe(false);
    if (databaseKind === "sqlite") expect(other.registry.skillsEnabled).toBe(true);
    other.clock.ms += 1_001;
    await until(async () => !(await other.registry.getSkillsEnabled()));
    await mine.registry.unregister("summarize");
    await other.registry.invalidateCache();
    await until(() => !finds(other.registry, "summarize"));
  });

  test("a skill that was replaced since it was looked up runs with its new content", async () => {
    const database = newDatabase();
    const [mine, other] = [await open(database), await open(database)];
    await mine.registry.register(definition);
    other.clock.ms += 1_001;
    await until(() => finds(other.registry, "summarize"));
    const head = resolve(other.registry, "summarize");
    const replaced = await mine.registry.register({ ...definition, handler: "other" }, { replace: true });
    expect((await other.registry.runnable(head)).skill).toMatchObject({ handler: "other", contentHash: replaced.contentHash });
    other.clock.ms += 1_001;
    await until(() => resolve(other.registry, "summarize").contentHash === replaced.contentHash);
  });

  test("a database whose counter went back is read anew", async () => {
    const { registry, store, clock } = await open();
    await registry.register(definition);
    await store.write(function* () {
      yield* run(db.deleteFrom("skills"));
      yield* run(db.updateTable("catalogue").set({ revision: 0 }));
    });
    clock.ms += 1_001;
    await until(() => !finds(registry, "summarize"));
  });
});

test("while the database cannot be read the copy serves for a minute, is reported once, and recovers", async () => {
  const { registry, store, clock, lines } = await open();
  await registry.register(definition);
  // No look at the database is under way.
  await registry.loadFromDatabase();
  const { read } = store;
  let broken = true;
  const unreliable = store as { read: Store["read"] };
  unreliable.read = (operation) => {
    if (broken) throw new Error("disk I/O error");
    return read(operation);
  };
  for (let second = 0; second < 59; second++) {
    clock.ms += 1_001;
    expect(resolve(registry, "summarize").version).toBe("1.0.0");
    await new Promise(setImmediate);
  }
  expect(lines.filter(({ level }) => level === "warn")).toHaveLength(1);
  clock.ms += 2_000;
  expect(() => resolve(registry, "summarize")).toThrow(expect.objectContaining({ code: "STORE_UNAVAILABLE" }));
  expect(() => resolve(registry, "summarize")).toThrow(expect.objectContaining({ code: "STORE_UNAVAILABLE" }));
  broken = false;
  clock.ms += 1_001;
  expect((await resolve(registry, "summarize")).version).toBe("1.0.0");
});

describe("a row that was broken by hand", () => {
  const damage = async (store: Store, name: string, fields: Record<string, unknown>) => {
    await store.write(function* () {
      yield* run(db.updateTable("skills").set(fields).where("name", "=", name));
      yield* run(db.updateTable("catalogue").set({ revision: 1_000 }));
      yield* run(db.updateTable("skills").set({ revision: 1_000 }));
    });
  };

  test.each([
    ["content that is not JSON", { content: "{" }],
    ["content that is other JSON", { content: "[]" }],
    ["content that was edited", { content: '{"handler":"evil","outputSchema":null,"patterns":"linear","schema":{}}' }],
  ])("%s fails only its own skill", async (_, fields) => {
    const { registry, store, clock } = await open();
    await registry.register(definition);
    await registry.register({ ...definition, name: "whole" });
    await damage(store, "summarize", fields);
    await registry.invalidateCache();
    clock.ms += 1_001;
    const head = resolve(registry, "summarize");
    await expect((async () => registry.runnable(head))()).rejects.toMatchObject({ code: "STORED_SKILL_INVALID" });
    expect((await registry.runnable(resolve(registry, "whole"))).skill.name).toBe("whole");
    await registry.register(definition);
    expect((await registry.runnable(resolve(registry, "summarize"))).skill.handler).toBe("summarizeHandler");
  });

  test.each([
    ["a version that is none", { version: "one" }],
    ["tags that are no JSON", { tags: "nlp" }],
    ["a mode that is none", { mode: "sometimes" }],
    ["a name that is none", { name: "9 lives" }],
  ])("%s is skipped and reported, and the others load", async (_, fields) => {
    const { registry, store, lines } = await open();
    const { id } = await registry.register(definition);
    await registry.register({ ...definition, name: "whole" });
    await damage(store, "summarize", fields);
    await registry.loadFromDatabase();
    expect(await registry.list()).toEqual([expect.objectContaining({ name: "whole" })]);
    expect(lines).toContainEqual({
      level: "warn",
      fields: { skillId: id, problem: expect.any(String) },
      message: expect.stringContaining("skipped"),
    });
  });
});

// Registering so many takes minutes where each is a transaction over the network; the heap is the same.
if (databaseKind === "sqlite") {
  test("ten thousand versions leave the heap level", async () => {
    const { registry } = await open();
    const heapsMb: number[] = [];
    for (let index = 0; index < 10_000; index++) {
      await registry.register({
        ...definition,
        version: `1.${index}.0`,
        schema: { type: "object", properties: { [`field${index}`]: { type: "string", pattern: `^v${index}$` } } },
      });
      if (index % 2_000 === 1_999) {
        collectGarbage();
        heapsMb.push(process.memoryUsage().heapUsed / 2 ** 20);
      }
    }
    expect(resolve(registry, "summarize@^1").version).toBe("1.9999.0");
    // The catalogue itself grows by about 8 MiB; keeping every validator, or one compiler for all, adds more than 80.
    expect((heapsMb.at(-1) ?? 0) - (heapsMb[0] ?? 0)).toBeLessThan(40);
  }, 120_000);
}

test("a registry that opens on first use tries again after a failure", async () => {
  const { registry } = await open();
  let failures = 1;
  const lazy = openRegistry(async () => {
    if (failures-- > 0) throw new Error("not yet");
    return registry;
  });
  await expect(lazy.list()).rejects.toThrow("not yet");
  await lazy.register(definition);
  expect(await lazy.getSkill("summarize")).toMatchObject({ name: "summarize" });
  expect(await lazy.getSkillsEnabled()).toBe(true);
});
