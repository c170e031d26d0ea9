import { describe, expect, test } from "vitest";
import { SkillError } from "../../../lib/index.js";
import { openTestKit } from "../../fixtures/kit.js";

const anything = { type: "object" } as const;

describe("a call", () => {
  test("returns its execution and leaves one committed row that says the same", async () => {
    const kit = openTestKit();
    kit.define({
      name: "double",
      schema: { type: "object", properties: { n: { type: "number" } } },
      handler: ({ n }) => ({ twice: (n ?? 0) * 2 }),
    });
    const execution = await kit.executor.execute("double", { n: 21 }, { apiKeyId: "k1", sessionId: "s1", requestId: "r1" });
    expect(execution).toMatchObject({
      skillName: "double",
      skillVersion: "1.0.0",
      apiKeyId: "k1",
      sessionId: "s1",
      requestId: "r1",
      parentId: null,
      rootId: execution.id,
      status: "SUCCESS",
      input: { n: 21 },
      output: { twice: 42 },
      errorCode: null,
      errorMessage: null,
      attempts: 1,
    });
    expect(execution.durationMs).toBeGreaterThanOrEqual(0);
    expect(Date.parse(execution.finishedAt ?? "")).toBeGreaterThanOrEqual(Date.parse(execution.createdAt));
    expect(await kit.executor.getExecution(execution.id)).toEqual(execution);
    expect(await kit.executor.countExecutions()).toBe(1);
  });

  test("gives the handler its context", async () => {
    const kit = openTestKit();
    const seen: unknown[] = [];
    kit.define({
      name: "look",
      version: "2.1.0",
      schema: anything,
      handler: (_, context) => {
        const { executionId, skill, apiKeyId, sessionId, requestId, attempt, deadline, signal } = context;
        context.progress(0.5, "half");
        context.log("a line", { n: 1 });
        seen.push({
          executionId,
          skill,
          apiKeyId,
          sessionId,
          requestId,
          attempt,
          aborted: signal.aborted,
          leftMs: deadline - Date.now(),
        });
      },
    });
    const { id, output } = await kit.executor.execute("look", {}, { apiKeyId: "k1", timeoutMs: 5_000 });
    expect(output).toBeNull();
    expect(seen).toEqual([
      {
        executionId: id,
        skill: { name: "look", version: "2.1.0" },
        apiKeyId: "k1",
        sessionId: null,
        requestId: null,
        attempt: 1,
        aborted: false,
        leftMs: expect.closeTo(5_000, -3),
      },
    ]);
    expect(kit.logged).toContainEqual({
      level: "info",
      message: "a line",
      fields: expect.objectContaining({ n: 1, executionId: id }),
    });
    expect(kit.logged).toContainEqual({ level: "debug", message: "half", fields: expect.objectContaining({ fraction: 0.5 }) });
  });

  test("does not change the caller's input when the handler does, in the row or in the next attempt", async () => {
    const kit = openTestKit();
    const seen: unknown[] = [];
    kit.define({
      name: "mutate",
      schema: { type: "object", properties: { list: { type: "array", items: { type: "number" } } } },
      retry: { limit: 1, backoffMs: 1 },
      handler: (input) => {
        seen.push(structuredClone(input));
        (input.list as number[]).push(9);
        throw new Error("again");
      },
    });
    const execution = await kit.executor.execute("mutate", { list: [1] });
    expect(seen).toEqual([{ list: [1] }, { list: [1] }]);
    expect((await kit.executor.getExecution(execution.id))?.input).toEqual({ list: [1] });
  });
});

describe("a call that is refused", () => {
  const kitWith = () => {
    const kit = openTestKit();
    kit.define({
      name: "ok",
      schema: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
      handler: () => ({}),
    });
    kit.define({ name: "off", schema: anything, mode: "off", handler: () => ({}) });
    kit.define({ name: "disabled", schema: anything, enabled: false, handler: () => ({}) });
    return kit;
  };
  test.each([
    ["a@@b@", "INVALID_REFERENCE", 400],
    ["ok@>=>1", "INVALID_REFERENCE", 400],
    ["nothing", "SKILL_NOT_FOUND", 404],
    ["ok@^9", "SKILL_NOT_FOUND", 404],
    ["disabled@1.0.0", "SKILL_DISABLED", 409],
    ["disabled", "SKILL_DISABLED", 409],
    ["off", "SKILL_OFF", 409],
    ["ok", "INVALID_INPUT", 422],
    ["orphan", "HANDLER_NOT_FOUND", 501],
  ])("%s throws %s and leaves a DENIED row without input", async (reference, code, status) => {
    const kit = kitWith();
    await kit.registry.register({ name: "orphan", schema: anything, handler: "nobody" });
    const call = kit.executor.execute(reference, { password: "x", n: "not a number" }, { apiKeyId: "k1" });
    const error = await call.catch((thrown: unknown) => thrown as SkillError);
    expect(error).toBeInstanceOf(SkillError);
    expect(error).toMatchObject({ code, status });
    const rows = await kit.executor.listExecutions();
    expect(rows).toMatchObject([
      {
        id: (error as SkillError).executionId,
        status: "DENIED",
        errorCode: code,
        input: null,
        output: null,
        attempts: 0,
        apiKeyId: "k1",
      },
    ]);
  });

  test("names the handlers that exist when its own is missing", async () => {
    const kit = kitWith();
    await kit.registry.register({ name: "orphan", schema: anything, handler: "nobody" });
    await expect(kit.executor.run("orphan", {})).rejects.toThrow(/"nobody".*disabled@1\.0\.0, off@1\.0\.0, ok@1\.0\.0/);
  });

  test("by the master switch, which is stored, leaves other processes' kits refused too", async () => {
    const kit = kitWith();
    await kit.registry.setSkillsEnabled(false);
    await expect(kit.executor.run("ok", { n: 1 })).rejects.toMatchObject({ code: "SKILLS_DISABLED", status: 503 });
    const other = openTestKit({ database: kit.file });
    other.define({
      name: "ok",
      schema: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
      handler: () => ({}),
    });
    await expect(other.executor.run("ok", { n: 1 })).rejects.toMatchObject({ code: "SKILLS_DISABLED" });
    await other.registry.setSkillsEnabled(true);
    await expect(other.executor.run("ok", { n: 1 })).resolves.toEqual({});
    await kit.registry.invalidateCache();
    await expect(kit.executor.run("ok", { n: 1 })).resolves.toEqual({});
  });

  test.each([
    [{ timeoutMs: 2 ** 31 }, /timeoutMs/],
    [{ timeoutMs: 0 }, /timeoutMs/],
    [{ timeoutMs: Number.NaN }, /timeoutMs/],
    [{ apiKeyId: "" }, /apiKeyId/],
    [{ sessionId: "a\nb" }, /sessionId/],
    [{ requestId: "x".repeat(201) }, /requestId/],
    [{ apiKeyID: "k" }, /did you mean "apiKeyId"/],
    [{ signal: {} }, /AbortSignal/],
    [{ idempotencyKey: "x".repeat(256) }, /idempotencyKey/],
  ])("for its options %j says which and leaves no row", async (options, message) => {
    const kit = kitWith();
    const call = kit.executor.execute("ok", { n: 1 }, options as object);
    await expect(call).rejects.toMatchObject({ code: "INVALID_OPTION", message: expect.stringMatching(message) });
    expect(await kit.executor.countExecutions()).toBe(0);
  });
});

describe("a handler that fails", () => {
  const failWith = async (thrown: unknown) => {
    const kit = openTestKit();
    kit.define({
      name: "fail",
      schema: anything,
      handler: () => {
        throw thrown;
      },
    });
    const execution = await kit.executor.execute("fail", {});
    const error = await kit.executor.run("fail", {}).catch((error: unknown) => error as SkillError);
    return { execution, error: error as SkillError };
  };

  test.each([
    ["an error", new Error("boom"), "boom"],
    ["a string", "plain", "plain"],
    ["null", null, "null"],
    ["undefined", undefined, "undefined"],
    ["an object without text", Object.create(null), "The handler threw a value that has no text."],
    ["an error without message", new TypeError(""), "TypeError"],
    ["text with NUL", new Error("a\0b"), "ab"],
  ])("with %s ends as ERROR, and run() throws SKILL_FAILED with the cause", async (_, thrown, message) => {
    const { execution, error } = await failWith(thrown);
    expect(execution).toMatchObject({ status: "ERROR", errorCode: "SKILL_FAILED", errorMessage: message, output: null });
    expect(error).toMatchObject({ code: "SKILL_FAILED", status: 500, expose: false, message });
    expect(error.cause).toBe(thrown ?? error.cause);
    expect(error.executionId).not.toBe(execution.id);
  });

  test("with a very long message stores its first part", async () => {
    const { execution } = await failWith(new Error("x".repeat(100_000)));
    expect(execution.errorMessage).toHaveLength(4_096);
  });

  test.each([
    [{ status: 404, expose: true }, 404, true],
    [{ statusCode: 418, expose: true }, 418, true],
    [{ status: 404, expose: false }, 500, false],
    [{ status: 404 }, 500, false],
    [{ status: 503, expose: true }, 500, false],
    [{ status: "404", expose: true }, 500, false],
  ])("with %j answers %i", async (fields, status, expose) => {
    const { error } = await failWith(Object.assign(new Error("for the client"), fields));
    expect(error).toMatchObject({ code: "SKILL_FAILED", status, expose });
  });

  test("because a skill it calls was refused does not pass that refusal on as the client's fault", async () => {
    const kit = openTestKit();
    kit.define({ name: "outer", schema: anything, handler: (_, context) => context.run("missing", {}) });
    await expect(kit.executor.run("outer", {})).rejects.toMatchObject({
      code: "SKILL_FAILED",
      status: 500,
      expose: false,
      cause: { code: "SKILL_NOT_FOUND" },
    });
  });
});

describe("an output", () => {
  const cycle: Record<string, unknown> = {};
  cycle.self = cycle;
  test.each([
    ["a bigint", { n: 1n }, "/n"],
    ["a cycle", cycle, "/self"],
    ["a function", { f: () => 1 }, "/f"],
    ["a map", new Map(), ""],
  ])("that is %s is INVALID_OUTPUT with its place, and the row is written", async (_, output, pointer) => {
    const kit = openTestKit();
    kit.define({ name: "odd", schema: anything, retry: { limit: 3, backoffMs: 1 }, handler: () => output });
    const execution = await kit.executor.execute("odd", {});
    expect(execution).toMatchObject({ status: "ERROR", errorCode: "INVALID_OUTPUT", output: null, attempts: 1 });
    await expect(kit.executor.run("odd", {})).rejects.toMatchObject({
      code: "INVALID_OUTPUT",
      status: 500,
      faults: [{ pointer }],
    });
    expect(await kit.executor.getExecution(execution.id)).toMatchObject({ status: "ERROR" });
  });

  test("that does not match outputSchema is INVALID_OUTPUT", async () => {
    const kit = openTestKit();
    const outputSchema = { type: "object", properties: { n: { type: "number" } }, required: ["n"] };
    kit.define({ name: "out", schema: anything, outputSchema, handler: () => ({ n: "1" }) });
    const call = kit.executor.run("out", {});
    await expect(call).rejects.toMatchObject({ code: "INVALID_OUTPUT", faults: [{ pointer: "/n" }] });
  });

  test("that is text holding JSON stays text in the row", async () => {
    const kit = openTestKit();
    kit.define({ name: "text", schema: anything, handler: () => '{"a":1}' });
    const { id, output } = await kit.executor.execute("text", {});
    expect(output).toBe('{"a":1}');
    expect((await kit.executor.getExecution(id))?.output).toBe('{"a":1}');
  });
});
