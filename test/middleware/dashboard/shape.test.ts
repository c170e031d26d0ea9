import { describe, expect, test } from "vitest";
import { fieldPointers, initialValue, shapeOf, toFieldFault } from "../../../middleware/dashboard/ui/form/shape.js";

const object = (properties: object, rest: object = {}) => ({ type: "object", properties, ...rest });

describe("which field a schema is filled in with", () => {
  test.each([
    [
      { type: "string", maxLength: 40 },
      { kind: "text", isLong: false },
    ],
    [{ type: "string" }, { kind: "text", isLong: true }],
    [
      { type: "string", format: "email" },
      { kind: "text", isLong: false },
    ],
    [{ type: "integer" }, { kind: "number", isWhole: true }],
    [{ type: "number" }, { kind: "number", isWhole: false }],
    [{ type: "boolean" }, { kind: "boolean" }],
    [{ enum: ["a", 1, null] }, { kind: "choice", choices: ["a", 1, null] }],
    [{ const: "fixed" }, { kind: "choice", choices: ["fixed"] }],
    [{ type: "array", items: { type: "string" } }, { kind: "list" }],
    [object({ a: { type: "string" } }), { kind: "group" }],
    [object({}), { kind: "json" }],
    [{ type: ["string", "null"] }, { kind: "json" }],
    [{ oneOf: [{ type: "string" }, { type: "null" }] }, { kind: "json" }],
    [{ type: "array" }, { kind: "json" }],
    [{ enum: [{ a: 1 }] }, { kind: "json" }],
    [true, { kind: "json" }],
    [{}, { kind: "json" }],
    [null, { kind: "json" }],
  ])("%j", (schema, expected) => {
    expect(shapeOf(schema)).toMatchObject(expected);
  });

  test("references within the schema are followed, also to names with signs in them", () => {
    const shape = shapeOf({
      ...object({ a: { $ref: "#/$defs/x~1y", description: "Here" } }),
      $defs: { "x/y": { type: "integer" } },
    });
    expect(shape).toMatchObject({ fields: [{ name: "a", shape: { kind: "number", schema: { description: "Here" } } }] });
  });

  test("what refers to itself, to nothing or elsewhere ends as JSON", () => {
    const tree = object({ child: { $ref: "#" }, next: { $ref: "#/$defs/loop" } }, { $defs: { loop: { $ref: "#/$defs/loop" } } });
    expect(JSON.stringify(shapeOf(tree))).toContain('"kind":"json"');
    expect(shapeOf({ $ref: "#/$defs/none" })).toMatchObject({ kind: "json" });
    expect(shapeOf({ $ref: "https://example.com/schema" })).toMatchObject({ kind: "json" });
  });

  test("a schema nested without end does not make a form without end", () => {
    let schema: object = { type: "string" };
    for (let level = 0; level < 1_000; level++) schema = object({ inner: schema });
    expect(JSON.stringify(shapeOf(schema)).match(/"kind":"group"/g)?.length).toBeLessThan(10);
  });
});

describe("what a form starts with", () => {
  test("defaults and only choices, but no optional group", () => {
    const schema = object(
      {
        count: { type: "integer", default: 3 },
        type: { const: "invoice" },
        note: { type: "string" },
        needed: object({ on: { type: "boolean", default: true } }),
        optional: object({ on: { type: "boolean", default: true }, id: { type: "string" } }, { required: ["id"] }),
      },
      { required: ["needed"] },
    );
    expect(initialValue(shapeOf(schema))).toEqual({ count: 3, type: "invoice", needed: { on: true } });
  });
});

describe("where faults are shown", () => {
  test("fields are found by pointer, in lists only as far as there are items", () => {
    const shape = shapeOf(
      object({ "a/b": { type: "string" }, list: { type: "array", items: object({ x: { type: "integer" } }) } }),
    );
    expect(fieldPointers(shape, { list: [{}, {}] })).toEqual(["/a~1b", "/list", "/list/0", "/list/0/x", "/list/1", "/list/1/x"]);
  });

  test("a property that is missing is a fault of its own field", () => {
    const fault = { pointer: "/to", message: "must have required property 'post/code'" };
    expect(toFieldFault(fault)).toEqual({ pointer: "/to/post~1code", message: "is required" });
    const other = { pointer: "/to", message: "must be object" };
    expect(toFieldFault(other)).toBe(other);
  });
});
