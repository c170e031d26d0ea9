import { describe, expect, test } from "vitest";
import type { Fault } from "../../../../lib/errors.js";
import { SchemaCompiler, SchemaRefusal } from "../../../../lib/registry/schema/compiler.js";
import type { SchemaObject } from "../../../../lib/types.js";

const compiler = new SchemaCompiler();
const linear = (schema: SchemaObject) => compiler.compile(schema, "linear").validate;
const native = (schema: SchemaObject) => compiler.compile(schema, "native").validate;

function refusal(schema: unknown, patterns: "linear" | "native" = "linear"): readonly Fault[] {
  try {
    compiler.compile(schema as SchemaObject, patterns);
  } catch (error) {
    if (error instanceof SchemaRefusal) return error.faults;
    throw error;
  }
  return [];
}

const refuses = (pointer: string, message: RegExp) => [
  expect.objectContaining({ pointer, message: expect.stringMatching(message) }),
];
const person = { type: "object", properties: { name: { type: "string" } }, required: ["name"], additionalProperties: false };

describe("everyday schemas are taken", () => {
  test("one in the style of OpenAPI, with example, formats and unknown keywords", () => {
    const validate = linear({
      type: "object",
      title: "Order",
      "x-internal": true,
      properties: {
        id: { type: "string", format: "uuid", example: "9f0c2c0e-0000-4000-8000-000000000000" },
        placedAt: { type: "string", format: "date-time", example: "2024-01-01T00:00:00Z" },
        price: { type: "number", format: "double", nullable: true },
        total: { type: "string", format: "decimal" },
        kind: { oneOf: [{ type: "null" }, { type: "string" }] },
      },
      discriminator: { propertyName: "kind" },
      required: ["id"],
    });
    expect(validate({ id: "9f0c2c0e-0000-4000-8000-000000000000", placedAt: "2024-02-30T00:00:00Z" })).toEqual([
      { pointer: "/placedAt", message: 'must match format "date-time"' },
    ]);
    expect(validate({ id: "9f0c2c0e-0000-4000-8000-000000000000", price: null, total: "any", kind: null })).toEqual([]);
  });

  test("draft-07 by $schema, draft 2020-12 by default", () => {
    const tuple = { type: "array", items: [{ type: "string" }], additionalItems: false };
    expect(linear({ $schema: "http://json-schema.org/draft-07/schema#", ...tuple })(["a", "b"])).toHaveLength(1);
    expect(refusal(tuple)).toEqual(refuses("/items", /must be object,boolean/));
    expect(
      linear({ $schema: "https://json-schema.org/draft/2020-12/schema", prefixItems: [{ type: "string" }], items: false })([
        "a",
        "b",
      ]),
    ).toHaveLength(1);
  });

  test("references to definitions, anchors and any other place in the schema", () => {
    const validate = linear({
      type: "object",
      properties: {
        a: { $ref: "#/$defs/word" },
        b: { $ref: "#short" },
        c: { $ref: "#/properties/a" },
        d: { $ref: "#/components/schemas/N" },
      },
      $defs: { word: { type: "string" }, brief: { $anchor: "short", maxLength: 2 } },
      components: { schemas: { N: { type: "integer" } } },
    });
    expect(validate({ a: "x", b: "xy", c: "z", d: 1 })).toEqual([]);
    expect(validate({ d: "1" })).toEqual([{ pointer: "/d", message: "must be integer" }]);
    expect(validate({ c: 1 })).toEqual([{ pointer: "/c", message: "must be string" }]);
    expect(validate({ b: "xyz" })).toHaveLength(1);
  });

  test("an $id at the top, an id and an $id in notes leave no trace for the next schema", () => {
    const schema = {
      $id: "https://example.org/person",
      ...person,
      example: { $id: "https://example.org/person", id: 1 },
      id: "old style",
    };
    for (let round = 0; round < 3; round++) expect(linear(schema)({ name: "n" })).toEqual([]);
    expect(linear({ $id: "https://json-schema.org/draft/2020-12/schema", type: "string" })("x")).toEqual([]);
    expect(refusal({ type: "strin" })).not.toEqual([]);
  });

  test("names that exist on every object are only names", () => {
    for (const name of ["constructor", "toString", "hasOwnProperty", "valueOf"]) {
      const validate = linear({ type: "object", properties: { [name]: { type: "string", format: name } }, required: [name] });
      expect(validate({})).toHaveLength(1);
      expect(validate({ [name]: 1 })).toHaveLength(1);
      expect(validate({ [name]: "x" })).toEqual([]);
    }
    expect(refusal({ type: "object", properties: { a: { $ref: "#/constructor" } } })).toEqual(
      refuses("/properties/a/$ref", /refers to nothing/),
    );
  });

  test("{} accepts everything", () => {
    expect(linear({})([1, { a: null }])).toEqual([]);
  });
});

describe("what is no JSON Schema is refused with its pointer", () => {
  test.each([
    [{ content: "string" }, "/content", /no JSON Schema keyword/],
    [{ typ: "object" }, "/typ", /did you mean "type"/],
    [{ type: "objekt" }, "/type", /allowed values|one of/],
    [{ type: "object", properties: { a: "string" } }, "/properties/a", /must be object,boolean/],
    [{ type: "object", properties: { a: { minLength: -1 } } }, "/properties/a/minLength", /must be >= 0/],
    [{ type: "object", required: "a" }, "/required", /must be array/],
    [{ $schema: "http://json-schema.org/draft-04/schema#", type: "object" }, "/$schema", /draft 2020-12.*draft-07/],
    [{ $schema: 7, type: "object" }, "/$schema", /must name/],
    [
      { type: "object", nullable: true, properties: { a: { exclusiveMinimum: true } } },
      "/properties/a/exclusiveMinimum",
      /must be number/,
    ],
  ])("%j", (schema, pointer, message) => {
    expect(refusal(schema)).toContainEqual(refuses(pointer, message)[0]);
    expect(refusal(schema, "native")).toContainEqual(refuses(pointer, message)[0]);
  });
});

describe("no schema reaches beyond itself, whoever wrote it", () => {
  test.each([
    [{ $ref: "https://example.org/s.json" }, "/$ref", /another document/],
    [{ properties: { a: { $ref: "other.json#/a" } } }, "/properties/a/$ref", /another document/],
    [{ $ref: "http://json-schema.org/draft-07/schema#" }, "/$ref", /another document/],
    [{ $ref: "#/$defs/gone" }, "/$ref", /refers to nothing/],
    [{ $ref: "#/%zz" }, "/$ref", /refers to nothing/],
    [{ $async: true, type: "object" }, "/$async", /not allowed/],
    [{ properties: { a: { $async: true } } }, "/properties/a/$async", /not allowed/],
    [{ $defs: { a: { $async: true } } }, "/$defs/a/$async", /not allowed/],
    [{ properties: { a: { $id: "https://example.org/b", $ref: "#" } } }, "/properties/a/$id", /at the top only/],
  ])("%j", (schema, pointer, message) => {
    expect(refusal(schema, "native")).toContainEqual(refuses(pointer, message)[0]);
    expect(refusal(schema, "linear")).toContainEqual(refuses(pointer, message)[0]);
  });
});

describe("a registrant's schema that can stop the server is refused with its pointer", () => {
  const nested = (levels: number): SchemaObject =>
    levels === 0 ? { type: "string" } : { properties: { a: nested(levels - 1) } };

  test.each<[string, SchemaObject, string, RegExp]>([
    [
      "recursive anyOf",
      { $ref: "#/$defs/a", $defs: { a: { anyOf: [{ $ref: "#/$defs/a" }, { items: { $ref: "#/$defs/a" } }] } } },
      "/$ref/anyOf/0/$ref",
      /recursion/,
    ],
    ["a reference to the whole", { properties: { a: { $ref: "#" } } }, "/properties/a/$ref", /recursion/],
    [
      "two that refer to each other",
      { $ref: "#/$defs/a", $defs: { a: { $ref: "#/$defs/b" }, b: { $ref: "#/$defs/a" } } },
      "/$ref/$ref/$ref",
      /recursion/,
    ],
    ["$dynamicRef", { $dynamicAnchor: "n", properties: { a: { $dynamicRef: "#n" } } }, "/properties/a/$dynamicRef", /use \$ref/],
    ["$recursiveRef", { properties: { a: { $recursiveRef: "#" } } }, "/properties/a/$recursiveRef", /use \$ref/],
    ["uniqueItems alone", { type: "array", uniqueItems: true }, "/uniqueItems", /maxItems/],
    ["uniqueItems with a large maxItems", { type: "array", uniqueItems: true, maxItems: 101 }, "/uniqueItems", /maxItems/],
    ["format url", { type: "string", format: "url" }, "/format", /use "uri"/],
    ["format regex", { properties: { a: { format: "regex" } } }, "/properties/a/format", /not allowed/],
    ["look-around", { properties: { a: { pattern: "^(?=.*[A-Z]).+$" } } }, "/properties/a/pattern", /look-around.*linear-time/],
    ["a back-reference in a key", { patternProperties: { "(a)\\1": {} } }, "/patternProperties/(a)\\1", /back-reference/],
    ["a back-reference in propertyNames", { propertyNames: { pattern: "(a)\\1" } }, "/propertyNames/pattern", /back-reference/],
    ["too many schemas", { allOf: Array.from({ length: 257 }, () => true) }, "", /more than 256 subschemas/],
    ["too many levels", nested(65), `${"/properties/a".repeat(64)}`, /64 levels/],
    ["too many bytes", { description: "x".repeat(33_000), type: "object" }, "", /at most 32768/],
    ["too many listed values", { enum: Array.from({ length: 1_001 }, (_, index) => index) }, "", /more than 1000 values/],
    [
      "patterns that are too large together",
      { allOf: Array.from({ length: 5 }, (_, index) => ({ pattern: `${index}a{1000}` })) },
      "",
      /pattern instructions/,
    ],
  ])("%s", (_, schema, pointer, message) => {
    expect(refusal(schema)).toContainEqual(refuses(pointer, message)[0]);
  });

  test("definitions that double at every reference are counted as often as they apply, without counting each", () => {
    const doubling: Record<string, SchemaObject> = { a0: { type: "string" } };
    for (let index = 1; index < 40; index++)
      doubling[`a${index}`] = { allOf: [{ $ref: `#/$defs/a${index - 1}` }, { $ref: `#/$defs/a${index - 1}` }] };
    // One by one they are 2 to the power of 39.
    expect(refusal({ $ref: "#/$defs/a39", $defs: doubling })).toEqual([
      expect.objectContaining({ message: expect.stringMatching(/64 levels/) }),
    ]);
  });

  test("what the bounds allow is taken", () => {
    expect(refusal({ allOf: Array.from({ length: 255 }, () => true) })).toEqual([]);
    expect(refusal(nested(63))).toEqual([]);
    expect(refusal({ type: "array", uniqueItems: true, maxItems: 100 })).toEqual([]);
    expect(refusal({ enum: Array.from({ length: 1_000 }, (_, index) => index) })).toEqual([]);
  });

  test("the operator's own may be recursive, use look-around and be larger", () => {
    const tree = {
      $ref: "#/$defs/node",
      $defs: { node: { type: "object", properties: { children: { type: "array", items: { $ref: "#/$defs/node" } } } } },
    };
    expect(native(tree)({ children: [{ children: [] }] })).toEqual([]);
    expect(native(tree)({ children: [{ children: 1 }] })).toEqual([
      { pointer: "/children/0/children", message: "must be array" },
    ]);
    expect(native({ pattern: "^(?=.*[A-Z]).+$" })("abC")).toEqual([]);
    expect(refusal({ description: "x".repeat(200_000), type: "object" }, "native")).toEqual([]);
    expect(refusal({ description: "x".repeat(300_000), type: "object" }, "native")).toEqual(refuses("", /at most 262144/));
    expect(refusal({ pattern: "(" }, "native")).toEqual(refuses("/pattern", /no regular expression/));
  });
});

describe("a value is checked", () => {
  test("without being changed: no coercion, no defaults, no removal", () => {
    const validate = linear({
      type: "object",
      properties: { a: { type: "integer", default: 1 }, b: { oneOf: [{ type: "null" }, { type: "string" }] } },
    });
    const value = { b: null, c: 1 };
    expect(validate(value)).toEqual([]);
    expect(value).toEqual({ b: null, c: 1 });
    expect(validate({ a: "1" })).toEqual([{ pointer: "/a", message: "must be integer" }]);
    expect(validate({ b: 1 })).not.toEqual([]);
  });

  test("by two different patterns, each of which only its own text passes", () => {
    for (const check of [linear, native]) {
      const validate = check({ properties: { a: { pattern: "^a+$" }, b: { pattern: "^b+$" } } });
      expect(validate({ a: "aa", b: "bb" })).toEqual([]);
      expect(validate({ a: "bb" })).toEqual([{ pointer: "/a", message: 'must match pattern "^a+$"' }]);
      expect(validate({ b: "aa" })).toEqual([{ pointer: "/b", message: 'must match pattern "^b+$"' }]);
    }
  });

  test("with messages that hold nothing of it", () => {
    const validate = linear({
      ...person,
      properties: {
        name: { type: "string", pattern: "^[a-z]+$", maxLength: 5 },
        kind: { enum: ["a", "b"] },
        n: { const: 1 },
        at: { format: "email" },
      },
    });
    for (const secret of [
      { name: "S3CRET" },
      { name: "x", kind: "S3CRET" },
      { name: "x", n: "S3CRET" },
      { name: "x", at: "S3CRET" },
    ]) {
      const faults = validate(secret);
      expect(faults).toHaveLength(1);
      expect(JSON.stringify(faults)).not.toContain("S3CRET");
    }
    expect(validate({ name: "x", kind: "c" })[0]).toEqual({ pointer: "/kind", message: 'must be one of ["a","b"]' });
  });

  test("with a pointer that says which property is not allowed, escaped and cut", () => {
    const validate = linear(person);
    expect(validate({ name: "n", "a/b~c": 1 })).toEqual([{ pointer: "/a~1b~0c", message: "is not allowed here" }]);
    expect(validate({ name: "n", ["x".repeat(100_000)]: 1 })[0]?.pointer.length).toBeLessThan(350);
  });

  test("with a bounded number of faults", () => {
    const validate = linear({ anyOf: Array.from({ length: 50 }, (_, index) => ({ const: index })) });
    expect(validate("x").length).toBeLessThanOrEqual(10);
  });

  test("however deep it is", () => {
    const recursive = native({ $ref: "#/$defs/n", $defs: { n: { type: "object", properties: { n: { $ref: "#/$defs/n" } } } } });
    let deep: object = {};
    for (let level = 0; level < 100_000; level++) deep = { n: deep };
    expect(recursive(deep)).toEqual([{ pointer: "", message: "is nested too deeply for its schema" }]);
    expect(recursive({})).toEqual([]);
  });

  test("without blocking the event loop for long, whatever the pattern and the text", () => {
    const validate = linear({ type: "array", items: { not: { pattern: "^(?:[ab]*a[ab]{900})$" } } });
    const givenUp = [{ pointer: "", message: expect.stringContaining("too large for the patterns") }];
    /** The best of three. */
    const tookMs = (length: number) => {
      const texts = Array.from({ length }, () => "ab".repeat(500));
      const times = Array.from({ length: 3 }, () => {
        const startedAtMs = performance.now();
        expect(validate(texts)).toEqual(givenUp);
        return performance.now() - startedAtMs;
      });
      return Math.min(...times);
    };
    // However much there is, it is given up after the same work.
    const ofFewMs = tookMs(200);
    expect(tookMs(4_000)).toBeLessThan(10 * ofFewMs);
    expect(validate(["b"])).toEqual([]);
  });
});

describe("a registrant's pattern", () => {
  const slow = "a[ab]{50}c";
  const textOf = (length: number) => {
    let [text, bits] = ["", 1];
    // No period, so that the engine meets a new state at nearly every character.
    for (; text.length < length; bits = (bits * 48_271) % 2_147_483_647) text += bits % 2 === 0 ? "a" : "b";
    return `c${text}c`;
  };

  test("that makes the linear engine slow is bounded by the length of the text, in one string or in many", () => {
    const tooLarge = [{ pointer: "", message: expect.stringContaining("too large for the patterns") }];
    expect(linear({ pattern: slow })(textOf(1_000))).not.toEqual(tooLarge);
    expect(linear({ pattern: slow })(textOf(30_000))).toEqual(tooLarge);
    const items = linear({ type: "array", items: { not: { pattern: slow } } });
    expect(items(Array.from({ length: 3 }, () => textOf(1_000)))).toEqual([]);
    expect(items(Array.from({ length: 30 }, () => textOf(1_000)))).toEqual(tooLarge);
  });

  test.each<[string, string, unknown]>([
    ["500 UUIDs", "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$", "019af2b4-0000-7000-8000-0123456789ab"],
    ["500 addresses", "^[a-z0-9._%+-]+@[a-z0-9.-]+\\.[a-z]{2,}$", "somebody.with.a.name@mail.example.org"],
    ["500 slugs", "^[a-z0-9]+(?:-[a-z0-9]+)*$", "a-title-of-more-than-a-few-words"],
    ["500 times", "^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}(?:\\.\\d+)?Z$", "2026-11-30T06:43:51.123Z"],
  ])("accepts %s", (_, pattern, value) => {
    const validate = linear({ type: "array", items: { pattern } });
    expect(validate(Array.from({ length: 500 }, () => value))).toEqual([]);
  });

  test("accepts a text as long as a body parser lets through by default", () => {
    const text = "All work and no play. ".repeat(4_500);
    expect(linear({ pattern: "^[^<>]+$" })(text)).toEqual([]);
    expect(linear({ pattern: "\\S" })(text)).toEqual([]);
  });
});

test("a thousand schemas compile through recycled instances, and old validators keep working", () => {
  const first = linear({ properties: { first: { pattern: "^a$" } } });
  for (let index = 0; index < 1_200; index++) linear({ properties: { [`p${index}`]: { pattern: `^${index}$` } } });
  expect(first({ first: "a" })).toEqual([]);
  expect(first({ first: "b" })).toHaveLength(1);
});

test("sensitive places are found through references, combinations, arrays and recursion", () => {
  const { marks } = compiler.compile(
    {
      properties: {
        user: { $ref: "#/$defs/user" },
        cards: { type: "array", items: { properties: { pan: { "x-sensitive": true }, label: {} } } },
        free: { additionalProperties: { writeOnly: true }, properties: { open: {} } },
      },
      anyOf: [{ properties: { pin: { writeOnly: true } } }, { properties: { pin: { type: "string" } } }],
      $defs: { user: { properties: { password: { writeOnly: true }, friend: { $ref: "#/$defs/user" } } } },
    },
    "native",
  );
  const at = (...path: string[]) =>
    path.reduce<typeof marks>((node, key) => node?.properties?.get(key) ?? node?.items, marks)?.here === true;
  expect(at("user", "password")).toBe(true);
  expect(at("user", "friend", "friend", "password")).toBe(true);
  expect(at("cards", "0", "pan")).toBe(true);
  expect(at("cards", "0", "label")).toBe(false);
  expect(at("free", "anything")).toBe(true);
  expect(at("free", "open")).toBe(false);
  expect(at("pin")).toBe(true);
  expect(at("user")).toBe(false);
  expect(compiler.compile(person, "linear").marks).toBeUndefined();
});
