import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isSecretKey, REDACTED, toStored } from "../../../lib/executor/redact.js";
import type { SensitiveMarks } from "../../../lib/types.js";

const stored = (value: unknown, marks?: SensitiveMarks, maxBytes = 65_536) => {
  const { text, state } = toStored(JSON.stringify(value), marks, maxBytes);
  return { value: JSON.parse(text), state, bytes: Buffer.byteLength(text) };
};

describe("a value under a key that looks like a secret", () => {
  test.each([
    "password",
    "userPassword",
    "passwd",
    "DB_PASSWORD",
    "secret",
    "client_secret",
    "apiKey",
    "api_key",
    "x-api-key",
    "API KEY",
    "token",
  ])("is redacted under %s", (key) => {
    expect(stored({ [key]: "hunter2", n: 1 })).toMatchObject({ value: { [key]: REDACTED, n: 1 }, state: "redacted" });
  });

  test.each([
    "accessToken",
    "refresh_token",
    "authorization",
    "Cookie",
    "privateKey",
    "connectionString",
    "jwt",
    "bearer",
    "credentials",
  ])("is redacted under %s", (key) => {
    expect(stored([{ deep: [{ [key]: { any: "thing" } }] }])).toMatchObject({
      value: [{ deep: [{ [key]: REDACTED }] }],
      state: "redacted",
    });
  });

  test("is redacted when it is a number, unless it counts tokens", () => {
    expect(stored({ password: 123456 }).value).toEqual({ password: REDACTED });
    expect(stored({ maxToken: 100, hasPassword: true, secret: null })).toMatchObject({
      value: { maxToken: 100, hasPassword: true, secret: null },
      state: "whole",
    });
  });

  test.each(["maxTokens", "tokenizer", "author", "key", "monkey", "text", "pass"])(
    "is kept under %s, which is no secret",
    (key) => {
      expect(stored({ [key]: "plain" })).toMatchObject({ value: { [key]: "plain" }, state: "whole" });
    },
  );

  test("never survives, at any depth and beside anything else", () => {
    const SECRET = "s3cr3t-value";
    const withSecret = fc.letrec((tie) => ({
      value: fc.oneof({ depthSize: "small" }, fc.record({ password: fc.constant(SECRET) }), tie("list"), tie("record")),
      list: fc.tuple(fc.jsonValue(), tie("value")),
      record: fc.tuple(fc.string(), tie("value"), fc.jsonValue()).map(([key, value, other]) => ({ other, [key]: value })),
    })).value;
    fc.assert(
      fc.property(withSecret, fc.integer({ min: 256, max: 4_000 }), (value, maxBytes) => {
        expect(toStored(JSON.stringify(value), undefined, maxBytes).text).not.toContain(SECRET);
      }),
    );
  });

  test("leaves a value without such keys as it is", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const keys = JSON.stringify(value).match(/"[^"]*":/g) ?? [];
        fc.pre(!keys.some((key) => isSecretKey(key.slice(1, -2))));
        expect(toStored(JSON.stringify(value), undefined, 1_000_000)).toEqual({ text: JSON.stringify(value), state: "whole" });
      }),
    );
  });
});

test("a value that the schema marks is redacted, in lists and maps too", () => {
  const marks: SensitiveMarks = {
    properties: new Map<string, SensitiveMarks>([
      ["card", { here: true }],
      ["people", { items: { properties: new Map([["born", { here: true }]]) } }],
    ]),
  };
  expect(stored({ card: "4111", people: [{ born: "2000-01-01", name: "A" }], note: "x" }, marks)).toMatchObject({
    value: { card: REDACTED, people: [{ born: REDACTED, name: "A" }], note: "x" },
    state: "redacted",
  });
  expect(stored({ note: "x" }, marks).state).toBe("whole");
});

describe("a value over the limit", () => {
  test("is cut to its first part, with its size in bytes, within the limit", () => {
    const text = `"\\ü€😀`.repeat(10_000);
    const cut = stored(text, undefined, 1_000);
    expect(cut.state).toBe("cut");
    expect(cut.value).toMatchObject({ $cut: true, bytes: Buffer.byteLength(JSON.stringify(text)) });
    expect(cut.bytes).toBeLessThanOrEqual(1_000);
    expect(JSON.stringify(text).startsWith(cut.value.head)).toBe(true);
    expect(cut.value.head.length).toBeGreaterThan(50);
    expect(cut.value.head.isWellFormed()).toBe(true);
  });

  test("is redacted before it is cut", () => {
    const cut = stored({ password: "hunter2", filler: "x".repeat(10_000) }, undefined, 1_000);
    expect(cut.state).toBe("cut");
    expect(JSON.stringify(cut.value)).not.toContain("hunter2");
  });

  test("is kept when it is exactly at the limit", () => {
    expect(stored("x".repeat(254), undefined, 256).state).toBe("whole");
    expect(stored("x".repeat(255), undefined, 256).state).toBe("cut");
    expect(stored("€".repeat(100), undefined, 302).state).toBe("whole");
    expect(stored("€".repeat(100), undefined, 301).state).toBe("cut");
  });
});

test("a __proto__ key is stored as data", () => {
  const { text } = toStored('{"__proto__":{"password":"hunter2"},"token":"t"}', undefined, 1_000);
  expect(text).toBe(`{"__proto__":{"password":"${REDACTED}"},"token":"${REDACTED}"}`);
});
