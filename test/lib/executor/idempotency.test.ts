import { describe, expect, test } from "vitest";
import { gate, openTestKit, until } from "../../fixtures/kit.js";

const anything = { type: "object" } as const;
const counting = (handler: (input: Record<string, unknown>) => unknown = (input) => ({ got: input })) => {
  const kit = openTestKit();
  let runs = 0;
  kit.define({
    name: "once",
    schema: anything,
    handler: (input) => {
      runs++;
      return handler(input);
    },
  });
  return { kit, runs: () => runs };
};

describe("a call with an idempotency key", () => {
  test("runs once: the second call with the same input gets the stored execution, also after new versions and in another kit", async () => {
    const { kit, runs } = counting();
    const first = await kit.executor.execute("once@^1", { a: 1, b: [2] }, { idempotencyKey: "k" });
    kit.define({ name: "once", version: "1.1.0", schema: anything, handler: () => "newer" });
    expect(await kit.executor.execute("once@^1", { b: [2], a: 1 }, { idempotencyKey: "k" })).toEqual(first);
    const other = openTestKit({ database: kit.file });
    expect(await other.executor.run("once@^1", { a: 1, b: [2] }, { idempotencyKey: "k" })).toEqual({ got: { a: 1, b: [2] } });
    expect(runs()).toBe(1);
  });

  test("is refused for another input or another skill, and for another owner it is another key", async () => {
    const { kit, runs } = counting();
    await kit.executor.execute("once", { a: 1 }, { idempotencyKey: "k" });
    await expect(kit.executor.execute("once", { a: 2 }, { idempotencyKey: "k" })).rejects.toMatchObject({
      code: "IDEMPOTENCY_MISMATCH",
      status: 422,
    });
    await expect(kit.executor.execute("other", { a: 1 }, { idempotencyKey: "k" })).rejects.toMatchObject({
      code: "IDEMPOTENCY_MISMATCH",
    });
    expect(await kit.executor.execute("once", { a: 2 }, { idempotencyKey: "k", apiKeyId: "k2" })).toMatchObject({
      status: "SUCCESS",
    });
    expect(runs()).toBe(2);
  });

  test("has its row committed before the handler starts, and is refused while that runs", async () => {
    const free = gate();
    const { kit, runs } = counting(() => free.promise);
    const first = kit.executor.execute("once", {}, { idempotencyKey: "k" });
    await until(() => runs() === 1);
    const other = openTestKit({ database: kit.file });
    expect(await other.executor.listExecutions()).toMatchObject([{ status: "RUNNING" }]);
    await expect(other.executor.execute("once", {}, { idempotencyKey: "k" })).rejects.toMatchObject({
      code: "IDEMPOTENCY_IN_PROGRESS",
      status: 409,
      retryable: true,
    });
    free.open();
    await first;
    expect(runs()).toBe(1);
  });

  test("started twenty times at once runs once", async () => {
    const { kit, runs } = counting(() => new Promise((resolve) => setTimeout(resolve, 20)));
    const calls = await Promise.allSettled(
      Array.from({ length: 20 }, () => kit.executor.execute("once", {}, { idempotencyKey: "k" })),
    );
    expect(runs()).toBe(1);
    // On a database that answers later, some only ask once it has run.
    const ids = new Set(calls.map((call) => call.status === "fulfilled" && call.value.id));
    expect(ids.size - (ids.has(false) ? 1 : 0)).toBe(1);
    for (const call of calls)
      if (call.status === "rejected") expect(call.reason).toMatchObject({ code: "IDEMPOTENCY_IN_PROGRESS" });
  });

  test("replays a failure as it was", async () => {
    const { kit, runs } = counting(() => Promise.reject(new Error("boom")));
    await kit.executor.execute("once", {}, { idempotencyKey: "k" });
    expect(await kit.executor.execute("once", {}, { idempotencyKey: "k" })).toMatchObject({
      status: "ERROR",
      errorMessage: "boom",
    });
    await expect(kit.executor.run("once", {}, { idempotencyKey: "k" })).rejects.toMatchObject({
      code: "SKILL_FAILED",
      message: "boom",
      expose: false,
    });
    expect(runs()).toBe(1);
  });

  test("can be used again after a refusal", async () => {
    const { kit } = counting();
    await expect(kit.executor.execute("later", {}, { idempotencyKey: "k" })).rejects.toMatchObject({ code: "SKILL_NOT_FOUND" });
    kit.define({ name: "later", schema: anything, handler: () => "now" });
    expect(await kit.executor.run("later", {}, { idempotencyKey: "k" })).toBe("now");
  });

  test("whose answer was redacted or cut says ANSWER_NOT_STORED instead of giving half of it", async () => {
    const { kit, runs } = counting(() => ({ token: "t" }));
    await kit.executor.execute("once", {}, { idempotencyKey: "k" });
    await expect(kit.executor.execute("once", {}, { idempotencyKey: "k" })).rejects.toMatchObject({
      code: "ANSWER_NOT_STORED",
      status: 409,
    });
    expect(runs()).toBe(1);
  });
});

describe("running an execution again", () => {
  test("calls the same version with the same input, owner and session, as a new execution", async () => {
    const { kit } = counting();
    const first = await kit.executor.execute("once", { a: 1 }, { apiKeyId: "k1", sessionId: "s1" });
    kit.define({ name: "once", version: "1.1.0", schema: anything, handler: () => "newer" });
    const again = await kit.executor.retry(first.id);
    expect(again).toMatchObject({
      skillVersion: "1.0.0",
      input: { a: 1 },
      output: { got: { a: 1 } },
      apiKeyId: "k1",
      sessionId: "s1",
      status: "SUCCESS",
    });
    expect(again.id).not.toBe(first.id);
  });

  test("is refused when the stored input is not what was sent", async () => {
    const { kit } = counting();
    const secret = await kit.executor.execute("once", { password: "x" });
    await expect(kit.executor.retry(secret.id)).rejects.toMatchObject({ code: "INPUT_NOT_STORED", status: 409 });
    const denied = await kit.executor.execute("missing", {}).catch((error: { executionId: string }) => error.executionId);
    await expect(kit.executor.retry(denied as string)).rejects.toMatchObject({ code: "INPUT_NOT_STORED" });
    await expect(kit.executor.retry("nobody")).rejects.toMatchObject({ code: "EXECUTION_NOT_FOUND" });
  });
});
