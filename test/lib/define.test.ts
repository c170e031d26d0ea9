import { type } from "arktype";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { z } from "zod";
import { openTestKit } from "../fixtures/kit.js";

const anything = { type: "object" } as const;

describe("define()", () => {
  test("returns a handle at once, which runs the skill", async () => {
    const kit = openTestKit();
    const shout = kit.define({
      name: "shout",
      schema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
      handler: ({ text }) => ({ loud: text.toUpperCase() }),
    });
    expect(shout).toEqual({ name: "shout", version: "1.0.0", reference: "shout@1.0.0" });
    const { loud } = await kit.executor.run(shout, { text: "hi" });
    expect(loud).toBe("HI");
    expect(await kit.registry.getSkill(shout)).toMatchObject({ apiKeyId: "system", patterns: "native" });
  });

  test("at every start changes nothing, nor undoes what an operator switched", async () => {
    const kit = openTestKit();
    const define = (of: ReturnType<typeof openTestKit>) =>
      of.define({ name: "s", schema: anything, description: "first", handler: () => 1 });
    define(kit);
    await kit.registry.setEnabled("s", "1.0.0", false);
    await kit.close();
    const again = openTestKit({ database: kit.file });
    define(again);
    await again.ready();
    expect(again.logged).toEqual([]);
    await expect(again.executor.run("s", {})).rejects.toMatchObject({ code: "SKILL_DISABLED" });
  });

  test("with other content replaces it with a warning in development, and is SKILL_CONFLICT in production", async () => {
    const kit = openTestKit();
    kit.define({ name: "s", schema: anything, handler: () => "old" });
    await kit.ready();
    vi.stubEnv("NODE_ENV", "production");
    onTestFinished(() => {
      vi.unstubAllEnvs();
    });
    const deployed = openTestKit({ database: kit.file });
    deployed.define({ name: "s", schema: { type: "object", required: ["x"] }, handler: () => "new" });
    deployed.define({ name: "other", schema: anything, handler: () => "fine" });
    await expect(deployed.ready()).rejects.toMatchObject({ code: "SKILL_CONFLICT" });
    expect(deployed.logged).toMatchObject([{ level: "error", fields: { skill: "s@1.0.0", err: { code: "SKILL_CONFLICT" } } }]);
    expect(await deployed.executor.run("other", {})).toBe("fine");
    expect(await deployed.executor.execute("s", { x: 1 })).toMatchObject({
      status: "ERROR",
      errorMessage: expect.stringContaining("s@1.0.0"),
    });

    vi.stubEnv("NODE_ENV", "development");
    const edited = openTestKit({ database: kit.file });
    edited.define({ name: "s", schema: { type: "object", required: ["x"] }, handler: () => "new" });
    await edited.ready();
    expect(edited.logged).toMatchObject([{ level: "warn", fields: { skill: "s@1.0.0" } }]);
    expect(await edited.executor.run("s", { x: 1 })).toBe("new");
    await expect(edited.executor.run("s", {})).rejects.toMatchObject({ code: "INVALID_INPUT" });
  });

  test("that is at fault does not stop the others; ready() throws every fault with its pointer", async () => {
    const kit = openTestKit();
    kit.define({ name: "1bad", version: "v1", schema: anything, handler: () => 1 });
    kit.define({ name: "good", schema: anything, handler: () => "good" });
    await expect(kit.ready()).rejects.toMatchObject({
      code: "INVALID_DEFINITION",
      faults: expect.arrayContaining([
        expect.objectContaining({ pointer: "/name" }),
        expect.objectContaining({ pointer: "/version" }),
      ]),
    });
    expect(await kit.executor.run("good", {})).toBe("good");
  });

  test("without a name or a handler throws at once, since there can be no handle", () => {
    const kit = openTestKit();
    expect(() => kit.define({ name: "x", schema: anything } as never)).toThrow(/handler of "x" must be a function/);
    expect(() => kit.define(undefined as never)).toThrow(/takes an object/);
  });

  test("allows native patterns, with look-ahead, in the operator's own code", async () => {
    const kit = openTestKit();
    kit.define({
      name: "password",
      schema: { type: "object", properties: { p: { type: "string", pattern: "^(?=.*[0-9])(?=.*[a-z]).{8,}$" } } },
      handler: () => "ok",
    });
    expect(await kit.executor.run("password", { p: "abcdefg1" })).toBe("ok");
    await expect(kit.executor.run("password", { p: "abcdefgh" })).rejects.toMatchObject({ code: "INVALID_INPUT" });
  });
});

describe("define() with a Standard Schema", () => {
  test("of zod checks by zod, gives the handler zod's output, and stores the JSON Schema", async () => {
    const kit = openTestKit();
    const greet = kit.define({
      name: "greet",
      schema: z.object({
        name: z.string().min(2),
        at: z.iso.datetime().default("2026-01-01T00:00:00Z"),
        n: z.number().optional(),
      }),
      outputSchema: z.object({ text: z.string() }),
      handler: ({ name, at }) => ({ text: `${name} ${at.slice(0, 4)}` }),
    });
    expect(await kit.executor.run(greet, { name: "Ada" })).toEqual({ text: "Ada 2026" });
    await expect(kit.executor.run("greet", { name: "A", n: "1" })).rejects.toMatchObject({
      code: "INVALID_INPUT",
      faults: [{ pointer: "/name" }, { pointer: "/n" }],
    });
    expect(await kit.registry.getSkill("greet")).toMatchObject({
      schema: { type: "object", properties: { name: { type: "string", minLength: 2 } }, required: ["name"] },
      outputSchema: { type: "object", properties: { text: { type: "string" } } },
    });
  });

  test("of arktype, whose schemas are functions", async () => {
    const kit = openTestKit();
    const half = kit.define({ name: "half", schema: type({ n: "number" }), handler: ({ n }) => n / 2 });
    expect(await kit.executor.run(half, { n: 3 })).toBe(1.5);
    await expect(kit.executor.run("half", { n: "3" })).rejects.toMatchObject({
      code: "INVALID_INPUT",
      faults: [{ pointer: "/n" }],
    });
  });

  test("with asynchronous checks, and with a check that throws", async () => {
    const kit = openTestKit();
    const schema = z.object({ n: z.number() });
    kit.define({ name: "later", schema: Object.assign(schema.refine(async ({ n }) => n > 1)), handler: () => "ok" });
    kit.define({
      name: "throws",
      schema: z.object({
        n: z.number().refine(() => {
          throw new Error("secret text");
        }),
      }),
      handler: () => "ok",
    });
    expect(await kit.executor.run("later", { n: 2 })).toBe("ok");
    await expect(kit.executor.run("later", { n: 1 })).rejects.toMatchObject({ code: "INVALID_INPUT" });
    await expect(kit.executor.execute("throws", { n: 1 })).rejects.toMatchObject({
      code: "SKILL_FAILED",
      status: 500,
      expose: false,
    });
  });

  test("without a JSON Schema side says so", async () => {
    const kit = openTestKit();
    const old = { "~standard": { version: 1 as const, vendor: "old", validate: (value: unknown) => ({ value }) } };
    kit.define({ name: "old", schema: old as never, handler: () => 1 });
    await expect(kit.ready()).rejects.toMatchObject({
      code: "INVALID_DEFINITION",
      message: expect.stringContaining("old without a JSON Schema side"),
    });
  });
});
