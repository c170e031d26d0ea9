import fc from "fast-check";
import semver from "semver";
import { describe, expect, test } from "vitest";
import { isSkillError } from "../../../lib/errors.js";
import { parseReference } from "../../../lib/registry/reference.js";

const name = fc.stringMatching(/^(?:@[a-z0-9][a-z0-9_.-]{0,10}\/)?[A-Za-z][A-Za-z0-9_.-]{0,20}$/);
const version = fc
  .tuple(fc.nat(30), fc.nat(30), fc.nat(30), fc.constantFrom("", "", "-rc.1", "-alpha", "-0"))
  .map(([major, minor, patch, pre]) => `${major}.${minor}.${patch}${pre}`);
const range = fc.oneof(
  version,
  version.map((v) => `^${v}`),
  version.map((v) => `~${v}`),
  fc.tuple(fc.constantFrom(">", ">=", "<", "<="), version).map(([operator, v]) => `${operator}${v}`),
  fc.tuple(version, version).map(([a, b]) => `>=${a} <${b}`),
  fc.tuple(version, version).map(([a, b]) => `${a} - ${b}`),
  fc.tuple(version, version).map(([a, b]) => `^${a} || ~${b}`),
  fc.nat(30).map((major) => `${major}.x`),
  fc.constantFrom("*", "x", "1", "1.2", "1.2.*"),
);

function codeOf(reference: unknown): string {
  try {
    parseReference(reference as string);
    return "accepted";
  } catch (error) {
    if (!isSkillError(error)) throw error;
    return error.code;
  }
}

test("a bare name means the latest version", () => {
  expect(parseReference("summarizeText")).toEqual({ name: "summarizeText", range: "latest" });
  expect(parseReference("summarizeText@latest")).toEqual({ name: "summarizeText", range: "latest" });
});

test("a reference splits at its last @, so a scope is part of the name", () => {
  expect(parseReference("@org/tool@^1")).toEqual({ name: "@org/tool", range: "^1" });
  expect(parseReference("@org/tool")).toEqual({ name: "@org/tool", range: "latest" });
});

test("a handle stands for its reference", () => {
  expect(parseReference({ reference: "a@1.0.0" })).toEqual({ name: "a", range: "1.0.0" });
});

test("a parsed reference cannot be changed", () => {
  expect(Object.isFrozen(parseReference("a@^1"))).toBe(true);
});

test("spaces around and within a range do not matter, and an equals sign before a version neither", () => {
  expect(parseReference("a@  >=1.0.0 \t  <2.0.0 ").range).toBe(">=1.0.0 <2.0.0");
  expect(parseReference("a@=1.2.3").range).toBe("1.2.3");
  expect(parseReference("a@= 1.2.3").range).toBe("1.2.3");
});

test("every kind of range that node-semver knows is accepted", () => {
  fc.assert(
    fc.property(name, range, (n, r) => {
      fc.pre(n.length <= 100);
      expect(parseReference(`${n}@${r}`)).toEqual({ name: n, range: r });
    }),
  );
});

describe("what is malformed is refused, saying what is wrong and what is allowed", () => {
  test.each([
    ["", /name is empty/],
    ["@", /no valid name/],
    ["@org", /no valid name/],
    ["@org/", /no valid name/],
    ["a@", /nothing after its last @/],
    ["a@   ", /nothing after its last @/],
    ["9lives", /no valid name/],
    ["a b", /no valid name/],
    ["a\u0000", /no valid name/],
    ["__proto__", /no valid name/],
    ["a@v1.0", /"v"/],
    ["a@>=v1.0.0", /"v"/],
    ["a@1.0.0+build", /build metadata/],
    ["a@1.0.0 ||", /one side of \|\|/],
    ["a@|| 1", /one side of \|\|/],
    ["a@next", /neither a version nor a range/],
    ["a@1.2.3.4", /neither a version nor a range/],
    ["a@<=>1", /neither a version nor a range/],
    ["a@1\u00002", /no range can have/],
    ["a@1; drop", /no range can have/],
    [`a@${"1 ".repeat(65)}`, /more than 128 characters/],
    ["a".repeat(101), /longer than 100 characters/],
    ["a".repeat(1_000_000), /longer than 229 characters/],
  ])("%j", (reference, message) => {
    expect(() => parseReference(reference)).toThrow(message);
    expect(() => parseReference(reference)).toThrow(/"name@1\.2\.3"/);
    expect(codeOf(reference)).toBe("INVALID_REFERENCE");
  });

  test.each([undefined, null, 1, {}, [], { reference: 1 }, () => "a", Symbol("a")])("a reference that is %s", (reference) => {
    expect(codeOf(reference)).toBe("INVALID_REFERENCE");
  });
});

test("the message shows a hostile reference cut and without control characters", () => {
  try {
    parseReference(`\u001b[2J\n${"x".repeat(200)}`);
    expect.unreachable();
  } catch (error) {
    const { message } = error as Error;
    expect(message).not.toContain("\u001b");
    expect(message).not.toContain("\n");
    expect(message.length).toBeLessThan(500);
  }
});

test("whatever text is given, the answer is a reference that reads back the same, or INVALID_REFERENCE", () => {
  const hostile = fc.oneof(
    fc.string({ unit: "binary", maxLength: 300 }),
    fc
      .array(fc.constantFrom("@", "a", "1", ".", "-", " ", "||", "^", "~", ">", "<", "=", "x", "*", "/", "v", "__proto__"))
      .map((parts) => parts.join("")),
    fc.tuple(name, fc.string({ unit: "grapheme" })).map(([n, r]) => `${n}@${r}`),
  );
  fc.assert(
    fc.property(hostile, (text) => {
      if (codeOf(text) === "INVALID_REFERENCE") return;
      const parsed = parseReference(text);
      expect(parseReference(`${parsed.name}@${parsed.range}`)).toEqual(parsed);
      if (parsed.range !== "latest") expect(semver.validRange(parsed.range)).not.toBeNull();
    }),
    { numRuns: 2_000 },
  );
});
