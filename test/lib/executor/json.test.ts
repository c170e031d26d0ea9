import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { checkJson, toPointer } from "../../../lib/executor/json.js";

describe("a value that is checked to be JSON", () => {
  test("is accepted as it is, and rendered as JSON.stringify does", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const checked = checkJson(value);
        expect(checked.ok && checked.text).toBe(JSON.stringify(value));
        expect(checked.ok && checked.value).toBe(value);
      }),
    );
  });

  test("is null when there is none", () => {
    expect(checkJson(undefined)).toEqual({ ok: true, value: null, text: "null" });
  });

  test("becomes what its JSON says when it holds dates, undefined properties or class instances", () => {
    class Point {
      x = 1;
    }
    const checked = checkJson({ at: new Date(0), gone: undefined, point: new Point() });
    expect(checked).toMatchObject({ ok: true, value: { at: "1970-01-01T00:00:00.000Z", point: { x: 1 } } });
    expect(checked.ok && Object.keys(checked.value as object)).toEqual(["at", "point"]);
  });

  const cycle: Record<string, unknown> = { list: [{}] };
  (cycle.list as unknown[])[0] = cycle;
  let deep: unknown = 1;
  for (let level = 0; level < 100_000; level++) deep = [deep];
  const throwing = {
    toJSON() {
      throw new Error("no");
    },
  };
  test.each([
    ["a bigint", { a: { b: 1n } }, "/a/b", "bigint"],
    ["a function", [() => 1], "/0", "function"],
    ["a symbol", Symbol("x"), "", "symbol"],
    ["NaN", { n: Number.NaN }, "/n", "NaN"],
    ["infinity", [1, Number.POSITIVE_INFINITY], "/1", "Infinity"],
    ["a map", { m: new Map([["a", 1]]) }, "/m", "Map"],
    ["a set", { "a/b~c": new Set([1]) }, "/a~1b~0c", "Set"],
    ["bytes", { m: new Uint8Array(2) }, "/m", "binary"],
    ["a promise that was not awaited", { m: Promise.resolve(1) }, "/m", "Promise"],
    ["a cycle", cycle, "/list/0", "contains it"],
    ["an undefined item of a list", [undefined], "/0", "undefined"],
    ["a toJSON that throws", { a: throwing }, "", "no"],
  ])("is refused with its place when it is %s", (_, value, pointer, message) => {
    const checked = checkJson(value);
    expect(checked).toMatchObject({ ok: false, fault: { pointer, message: expect.stringContaining(message) } });
  });

  test("is refused when it is nested a hundred thousand levels deep, without exhausting the stack", () => {
    expect(checkJson(deep)).toMatchObject({ ok: false, fault: { message: expect.stringContaining("1000 levels") } });
  });
});

test("a pointer escapes ~ and /", () => {
  expect(toPointer(["a/b", 0, "m~n"])).toBe("/a~1b/0/m~0n");
});
