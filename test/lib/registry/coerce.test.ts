import { describe, expect, test } from "vitest";
import { coerceStrings } from "../../../lib/registry/coerce.js";
import type { SchemaObject } from "../../../lib/types.js";

const one = (schema: unknown, value: unknown, more: SchemaObject = {}) =>
  coerceStrings({ type: "object", properties: { p: schema }, ...more }, { p: value })["p"];

describe("text becomes what the schema wants when it is exactly that", () => {
  test.each([
    [{ type: "integer" }, "1", 1],
    [{ type: "integer" }, "-12", -12],
    [{ type: "integer" }, "1.5", "1.5"],
    [{ type: "number" }, "1.5", 1.5],
    [{ type: "number" }, "1e3", 1000],
    [{ type: "number" }, "0x10", "0x10"],
    [{ type: "number" }, "", ""],
    [{ type: "number" }, " 1", " 1"],
    [{ type: "number" }, "+1", "+1"],
    [{ type: "number" }, "01", "01"],
    [{ type: "number" }, "Infinity", "Infinity"],
    [{ type: "number" }, "1e999", "1e999"],
    [{ type: "integer" }, "9007199254740993", "9007199254740993"],
    [{ type: "boolean" }, "true", true],
    [{ type: "boolean" }, "false", false],
    [{ type: "boolean" }, "1", "1"],
    [{ type: "boolean" }, "TRUE", "TRUE"],
    [{ type: "null" }, "null", null],
    [{ type: "string" }, "1", "1"],
    [{ type: ["integer", "null"] }, "5", 5],
    [{ type: ["integer", "string"] }, "5", "5"],
    [{ type: "integer", nullable: true }, "5", 5],
    [{ type: "array", items: { type: "integer" } }, "1", [1]],
    [{ type: "array", items: { type: "integer" } }, ["1", "x"], [1, "x"]],
    [{ type: "array", items: { type: "string" } }, "1", ["1"]],
    [{ type: "array" }, "1", ["1"]],
    [{ type: "object" }, "{}", "{}"],
    [{ enum: [1, 2] }, "2", 2],
    [{ const: true }, "true", true],
    [{ enum: [1, "2"] }, "2", "2"],
    [{ anyOf: [{ type: "integer" }, { type: "null" }] }, "3", 3],
    [{ oneOf: [{ type: "integer" }, { type: "string" }] }, "3", "3"],
    [{ anyOf: [{ type: "integer" }, {}] }, "3", "3"],
    [{ allOf: [{ type: "number" }, { minimum: 1 }] }, "3.5", 3.5],
    [{ allOf: [{ type: "number" }, { type: "integer" }] }, "3", 3],
    [{ minimum: 1 }, "3", "3"],
    [true, "3", "3"],
    [{ type: "integer" }, 7, 7],
    [{ type: "integer" }, { a: "1" }, { a: "1" }],
    [{ type: "integer" }, undefined, undefined],
  ])("%j takes %j as %j", (schema, value, expected) => {
    expect(one(schema, value)).toEqual(expected);
  });
});

test("local references and combinations at the top are followed", () => {
  expect(one({ $ref: "#/$defs/n" }, "1", { $defs: { n: { type: "integer" } } })).toBe(1);
  expect({
    ...coerceStrings({ $ref: "#/$defs/q", $defs: { q: { properties: { a: { type: "boolean" } } } } }, { a: "true" }),
  }).toEqual({ a: true });
  expect({ ...coerceStrings({ allOf: [{ properties: { a: { type: "integer" } } }] }, { a: "1" }) }).toEqual({ a: 1 });
  expect({
    ...coerceStrings(
      { anyOf: [{ properties: { a: { type: "integer" } } }, { properties: { a: { type: "string" } } }] },
      { a: "1" },
    ),
  }).toEqual({ a: "1" });
});

test("the record and its arrays are copied, and the copy has no prototype", () => {
  const record = { list: ["1"], other: "x" };
  const copy = coerceStrings({ properties: { list: { type: "array", items: { type: "integer" } } } }, record);
  expect(Object.getPrototypeOf(copy)).toBeNull();
  expect(record).toEqual({ list: ["1"], other: "x" });
  expect({ ...copy }).toEqual({ list: [1], other: "x" });
});

test("a key __proto__ and a recursive schema do no harm", () => {
  const copy = coerceStrings({ properties: {} }, JSON.parse('{"__proto__":"1","constructor":"2"}'));
  expect(Object.keys(copy)).toEqual(["__proto__", "constructor"]);
  const recursive = {
    $ref: "#",
    anyOf: [{ $ref: "#" }, { $ref: "#" }],
    properties: { a: { $ref: "#/properties/a", allOf: [{ $ref: "#/properties/a" }] } },
  };
  // Following every reference again would never end.
  expect(coerceStrings(recursive, { a: "1", b: "2" })["a"]).toBe("1");
});
