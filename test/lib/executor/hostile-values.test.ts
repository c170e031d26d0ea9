import { describe, expect, test } from "vitest";
import { gate, openTestKit, until } from "../../fixtures/kit.js";

/** Written out, it is a fault to the linter. */
const THEN = "then";
const anything = { type: "object" } as const;

/** Deeper than a redaction may walk, and only seen once `toJSON` was called. */
const deepBehindToJson = {
  toJSON() {
    let deep: unknown = { secretToken: "x" };
    for (let level = 0; level < 3_000; level++) deep = { a: deep };
    return deep;
  },
};

/** What a handler can do with its last breath. */
const outputs: [string, () => unknown][] = [
  ["whose `then` cannot be read", () => Object.defineProperty({}, THEN, { enumerable: true, get: fail })],
  ["that is a Proxy which throws", () => new Proxy({}, { get: fail, ownKeys: fail, getPrototypeOf: fail })],
  ["that can be read only once", () => readableTimes(1)],
  ["that can be read only twice", () => readableTimes(2)],
  ["whose toJSON throws", () => ({ toJSON: fail })],
  ["whose toJSON gives thousands of levels", () => deepBehindToJson],
  ["that is a revoked Proxy", revoked],
  ["that is a thenable which throws", () => withThen({}, fail)],
  ["that is a promise whose own `then` throws", () => withThen(Promise.resolve(1), fail)],
];

describe("an output", () => {
  test.each(outputs)("%s ends the execution as ERROR, and the next calls are fine", async (_, output) => {
    const kit = openTestKit();
    kit.define({ name: "hostile", schema: anything, outputSchema: { type: "object", required: ["a"] }, handler: output });
    kit.define({ name: "good", schema: anything, handler: () => "good" });
    const execution = await kit.executor.execute("hostile", {});
    expect(execution).toMatchObject({ status: "ERROR", output: null, finishedAt: expect.any(String) });
    expect(await kit.executor.getExecution(execution.id)).toMatchObject({ status: "ERROR" });
    expect(await kit.executor.run("good", {})).toBe("good");
    expect(kit.executor.auditStats()).toMatchObject({ waiting: 0, lost: 0, failing: false });
  });

  test("that is a thenable which answers twice counts once", async () => {
    const kit = openTestKit();
    const twice = withThen({}, (resolve: (value: unknown) => void, reject: (error: unknown) => void) => {
      resolve("first");
      reject(new Error("second"));
      resolve("third");
    });
    kit.define({ name: "twice", schema: anything, handler: () => twice });
    expect(await kit.executor.execute("twice", {})).toMatchObject({ status: "SUCCESS", output: "first" });
  });

  test.each([
    ["never settles", () => {}],
    ["resolves to a promise that never settles", (resolve: (value: unknown) => void) => resolve(new Promise(() => {}))],
  ])("that is a thenable which %s ends at the deadline", async (_, then) => {
    const kit = openTestKit();
    kit.define({ name: "never", schema: anything, timeoutMs: 50, handler: () => withThen({}, then) });
    expect(await kit.executor.execute("never", {})).toMatchObject({ status: "TIMEOUT" });
  });

  test("with keys of prototypes, lone surrogates and a NUL comes back as it was, from the call and from its row", async () => {
    const kit = openTestKit();
    const output = JSON.parse('{"__proto__":{"polluted":true},"constructor":1,"half":"\\ud800","nul":"\\u0000","toString":"x"}');
    kit.define({ name: "odd", schema: anything, handler: (input) => input });
    const execution = await kit.executor.execute("odd", output);
    expect(JSON.stringify(execution.output)).toBe(JSON.stringify(output));
    expect(JSON.stringify((await kit.executor.getExecution(execution.id))?.output)).toBe(JSON.stringify(output));
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });
});

const thrown: [string, () => unknown][] = [
  ["undefined", () => undefined],
  ["a symbol", () => Symbol("x")],
  ["an object without a prototype", () => Object.create(null)],
  ["an object that cannot become text", () => ({ toString: fail, [Symbol.toPrimitive]: fail })],
  ["an error without message whose name is a number", () => Object.assign(new Error(""), { name: 42 })],
  ["an error whose message cannot be read", () => Object.defineProperty(new Error("x"), "message", { get: fail })],
  ["an error whose status cannot be read", () => Object.defineProperty(new Error("x"), "status", { get: fail })],
  ["a Proxy which throws", () => new Proxy({}, { get: fail, getPrototypeOf: fail, has: fail })],
  ["a revoked Proxy", revoked],
  ["an error of millions of characters", () => new Error("x".repeat(5_000_000))],
];

describe("a handler that throws", () => {
  test.each(thrown)("%s ends the execution as ERROR with SKILL_FAILED", async (_, make) => {
    const kit = openTestKit();
    kit.define({
      name: "throws",
      schema: anything,
      handler: () => {
        throw make();
      },
    });
    kit.define({ name: "rejects", schema: anything, handler: () => Promise.reject(make()) });
    for (const name of ["throws", "rejects"]) {
      const { id, ...execution } = await kit.executor.execute(name, {});
      expect(execution).toMatchObject({ status: "ERROR", errorCode: "SKILL_FAILED", errorMessage: expect.any(String) });
      expect(execution.errorMessage?.length).toBeLessThanOrEqual(4_096);
      expect(await kit.executor.getExecution(id)).toMatchObject({ status: "ERROR" });
      await expect(kit.executor.run(name, {})).rejects.toMatchObject({ code: "SKILL_FAILED", expose: false });
    }
  });

  test("what the logger cannot take, after its call ended, still gives its place back and is no unhandled rejection", async () => {
    const refuse = () => fail();
    const kit = openTestKit({ logger: { debug: refuse, info: refuse, warn: refuse, error: refuse } });
    const stuck = gate();
    kit.define({
      name: "deaf",
      schema: anything,
      concurrency: { limit: 1 },
      handler: async () => {
        await stuck.promise;
        throw new Error("late");
      },
    });
    expect(await kit.executor.execute("deaf", {}, { timeoutMs: 20 })).toMatchObject({ status: "TIMEOUT" });
    stuck.open();
    await until(async () => (await kit.executor.execute("deaf", {}).catch(() => undefined))?.status === "ERROR");
  });
});

const inputs: [string, () => unknown][] = [
  ["that can be read only once", () => readableTimes(1)],
  ["that can be read only twice", () => readableTimes(2)],
  ["that is a Proxy which throws", () => new Proxy({}, { get: fail, ownKeys: fail, getPrototypeOf: fail })],
  ["that is a revoked Proxy", revoked],
  ["that contains itself", cyclic],
  ["of a hundred thousand levels", () => nested(100_000)],
  ["whose toJSON gives thousands of levels", () => deepBehindToJson],
  ["with a bigint", () => ({ a: 1n })],
];

describe("an input", () => {
  for (const idempotencyKey of [undefined, "key"]) {
    test.each(inputs)(`%s is refused as INVALID_INPUT with a row, idempotency key ${idempotencyKey}`, async (_, input) => {
      const kit = openTestKit();
      let runs = 0;
      kit.define({ name: "count", schema: { type: "object", properties: { a: { type: "number" } } }, handler: () => ++runs });
      await expect(kit.executor.execute("count", input() as object, { idempotencyKey })).rejects.toMatchObject({
        code: "INVALID_INPUT",
      });
      expect(runs).toBe(0);
      expect(await kit.executor.listExecutions()).toMatchObject([{ status: "DENIED", errorCode: "INVALID_INPUT", input: null }]);
    });
  }
});

function fail(): never {
  throw new Error("hostile");
}

function withThen(target: object, then: unknown): object {
  return Object.defineProperty(target, THEN, { value: then, enumerable: true });
}

function readableTimes(times: number): object {
  let reads = 0;
  return Object.defineProperty({}, "a", { enumerable: true, get: () => (++reads > times ? fail() : 1) });
}

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

function cyclic(): object {
  const value: Record<string, unknown> = {};
  value.self = value;
  return value;
}

function nested(levels: number): object {
  let value: object = {};
  for (let level = 0; level < levels; level++) value = { a: value };
  return value;
}
