import { describe, expect, test } from "vitest";
import { isSkillError } from "../../../lib/errors.js";
import { parseDefinition } from "../../../lib/registry/definition.js";

const valid = { name: "a", schema: { type: "object" }, handler: "h" };
const parse = (definition: unknown) => parseDefinition(definition, { patterns: "linear" });

function faultsOf(definition: unknown): Record<string, string> {
  try {
    parse(definition);
  } catch (error) {
    if (!isSkillError(error)) throw error;
    expect(error.code).toBe("INVALID_DEFINITION");
    return Object.fromEntries(error.faults.map(({ pointer, message }) => [pointer, message]));
  }
  return {};
}

test("a definition is completed with its defaults", () => {
  expect(parse(valid)).toEqual({
    apiKeyId: "system",
    name: "a",
    version: "1.0.0",
    description: "",
    enabled: true,
    mode: "on",
    tags: [],
    sourceProvider: null,
    content: { schema: { type: "object" }, outputSchema: null, handler: "h", patterns: "linear" },
  });
});

test("a property that is undefined counts as absent", () => {
  expect(parse({ ...valid, version: undefined, tags: undefined, retry: { limit: 1, factor: undefined } }).content).toEqual({
    ...parse(valid).content,
    retry: { limit: 1 },
  });
});

test("every fault is listed with its pointer", () => {
  expect(
    faultsOf({
      name: "1a",
      version: "v1.0",
      description: 7,
      schema: [],
      handlr: "h",
      mode: "maybe",
      tags: ["ok", "", "x".repeat(65)],
      timeoutMs: 0,
      retry: { limit: -1, backofMs: 3 },
    }),
  ).toEqual({
    "/handlr": 'is no known field; did you mean "handler"?',
    "/name": expect.stringContaining("must be an optional @scope/"),
    "/version": expect.stringContaining("exact semantic version"),
    "/description": "must be a string",
    "/schema": "must be a JSON Schema object",
    "/handler": "is required, unless a container does the work",
    "/mode": 'must be one of "on", "off", "auto"',
    "/tags/1": "must not be empty",
    "/tags/2": "must have at most 64 characters",
    "/timeoutMs": expect.stringContaining("integer from 1"),
    "/retry/backofMs": 'is no known field; did you mean "backoffMs"?',
    "/retry/limit": "must be an integer from 0 to 100",
  });
});

describe("each bound is kept on both sides", () => {
  test.each<[string, unknown, unknown]>([
    ["name", "a".repeat(100), "a".repeat(101)],
    ["version", "1.2.3-rc.1", "1.2.3+build"],
    ["version", "0.0.0", " 1.2.3"],
    ["version", "1.0.0", "=1.0.0"],
    ["version", "1.0.0", "01.0.0"],
    ["version", "1.0.0", "1.0"],
    ["description", "x".repeat(1_024), "x".repeat(1_025)],
    ["tags", Array(32).fill("t"), Array(33).fill("t")],
    ["handler", "h".repeat(200), "h".repeat(201)],
    ["handler", "h", ""],
    ["handler", "h", "a\nb"],
    ["apiKeyId", "k".repeat(200), "k".repeat(201)],
    ["apiKeyId", "key 1", "key\u007f"],
    ["apiKeyId", "key", "key\ud800"],
    ["description", "x", "x\u0000"],
    ["sourceProvider", "p".repeat(100), "p".repeat(101)],
    ["timeoutMs", 2 ** 31 - 1, 2 ** 31],
    ["timeoutMs", 1, 1.5],
    ["concurrency", { limit: 10_000, queue: 0 }, { limit: 0 }],
    ["concurrency", { limit: 1, queue: 100_000 }, { limit: 1, queue: 100_001 }],
    ["breaker", { failures: 1_000 }, { failures: 1_001 }],
    ["breaker", { failures: 1, halfOpenAfterMs: 1 }, {}],
    ["retry", { limit: 100, backoffMs: 0, factor: 1, maxBackoffMs: 0, jitter: false }, { limit: 1, factor: 0.5 }],
    ["idempotent", true, "yes"],
    ["enabled", false, 0],
    ["schema", {}, null],
    ["outputSchema", {}, true],
  ])("%s", (field, good, bad) => {
    expect(faultsOf({ ...valid, [field]: good })).toEqual({});
    expect(Object.keys(faultsOf({ ...valid, [field]: bad }))).toEqual([expect.stringMatching(new RegExp(`^/${field}`))]);
  });
});

test.each([undefined, null, 1, "text", [], () => valid])("a definition that is %s is refused", (definition) => {
  expect(faultsOf(definition)).toHaveProperty([""]);
});

test("what is not JSON is refused where it is", () => {
  const cycle: Record<string, unknown> = { type: "object" };
  cycle["not"] = cycle;
  expect(Object.keys(faultsOf({ ...valid, schema: cycle }))[0]).toMatch(/^\/schema\/not\/not/);
  expect(faultsOf({ ...valid, schema: { const: Number.NaN } })).toEqual({ "/schema/const": "must be a finite number" });
  expect(faultsOf({ ...valid, schema: { const: new Date(0) } })).toEqual({ "/schema/const": "must be a plain object" });
  expect(faultsOf({ ...valid, schema: { const: () => 1 } })).toEqual({ "/schema/const": "must be JSON, not a function" });
  expect(faultsOf({ ...valid, schema: { const: 1n } })).toEqual({ "/schema/const": "must be JSON, not a bigint" });
});

test("a property is read once, so that what was checked is what is kept", () => {
  let reads = 0;
  const sly = {
    ...valid,
    get name() {
      reads++;
      return reads === 1 ? "good" : "__proto__";
    },
  };
  expect(parse(sly).name).toBe("good");
  expect(reads).toBe(1);
});

test("an accessor that throws, and a proxy that does, are refused", () => {
  const thrower = {
    ...valid,
    get version() {
      throw new Error("secret");
    },
  };
  expect(faultsOf(thrower)).toEqual({ "": "cannot be read" });
  const proxy = new Proxy(valid, {
    ownKeys() {
      throw new Error("secret");
    },
  });
  expect(faultsOf(proxy)).toEqual({ "": "cannot be read" });
});

test("the key __proto__ is refused, and changes no prototype", () => {
  const definition = JSON.parse('{"name":"a","handler":"h","schema":{"properties":{"__proto__":{"polluted":true}}}}');
  expect(faultsOf(definition)).toEqual({ "/schema/properties/__proto__": "is a key that is not allowed" });
  expect(faultsOf(JSON.parse('{"__proto__":{"name":"a"},"handler":"h","schema":{}}'))).toHaveProperty(["/__proto__"]);
  expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
});

test("fields inherited from a prototype do not count", () => {
  expect(faultsOf(Object.assign(Object.create({ handler: "h" }), { name: "a", schema: {} }))).toEqual({
    "": "must be a plain object",
  });
});

test("ten thousand unknown fields make a short message", () => {
  const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`field${"x".repeat(200)}${index}`, 1]));
  try {
    parse({ ...valid, ...many });
    expect.unreachable();
  } catch (error) {
    expect((error as Error).message.length).toBeLessThan(40_000);
  }
});
