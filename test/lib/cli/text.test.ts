import { describe, expect, test } from "vitest";
import { type Column, renderTable } from "../../../lib/cli/table.js";
import { parseTime, shortDuration } from "../../../lib/cli/time.js";
import { cutTo, jsonText, manyLines, oneLine, widthOf } from "../../../lib/cli/visible-text.js";

interface Row {
  readonly name: string;
  readonly text: string;
}
const columns: readonly Column<Row>[] = [
  { title: "NAME", value: ({ name }) => name },
  { title: "TEXT", value: ({ text }) => text, minWidth: 6 },
  { title: "MORE", value: () => "more", dropOrder: 1 },
];

describe("a table", () => {
  const rows = [
    { name: "short", text: "a text that is rather long" },
    { name: "longer-name", text: "数数数数数数数数数" },
  ];

  test("is as wide as it needs to be", () => {
    expect(renderTable(columns, rows, Number.POSITIVE_INFINITY)).toEqual([
      "NAME         TEXT                        MORE",
      "short        a text that is rather long  more",
      "longer-name  数数数数数数数数数          more",
    ]);
  });

  test.each([44, 40, 30, 25, 21])("fits into %i columns", (width) => {
    for (const line of renderTable(columns, rows, width)) expect(widthOf(line)).toBeLessThanOrEqual(width);
  });

  test("cuts what may be cut before it leaves out a column, and never the rest", () => {
    expect(renderTable(columns, rows, 30)[1]).toBe("short        a text tha…  more");
    expect(renderTable(columns, rows, 20)[1]).toBe("short        a text…");
    expect(renderTable(columns, rows, 5)[2]).toBe("longer-name  数数…");
  });

  test("shows what would steer the terminal, and stays in one line", () => {
    const [, line] = renderTable(columns, [{ name: "a\nb", text: "\u001b[2J\u009b1m\u202e" }], 200);
    expect(line).toBe("a b   \\u001b[2J\\u009b1m\\u202e  more");
  });

  test("without rows is its titles", () => {
    expect(renderTable(columns, [], 80)).toEqual(["NAME  TEXT  MORE"]);
  });
});

describe("text of users", () => {
  test("keeps its lines where it has room, and nothing else that steers", () => {
    expect(manyLines("a\r\nb\u0007\u007f")).toBe("a\nb\\u0007\\u007f");
    expect(oneLine("a\r\n\tb")).toBe("a b");
  });

  test("as JSON is still the same JSON", () => {
    const value = { text: "\u001b[2J\u009b\u2028\u202e\n" };
    for (const character of ["\u001b", "\u009b", "\u2028", "\u202e"]) expect(jsonText(value, 2)).not.toContain(character);
    expect(JSON.parse(jsonText(value, 2))).toEqual(value);
  });

  test.each([
    ["e\u0301a", 2],
    ["👩‍👩‍👧", 2],
    ["한", 2],
    ["ab", 2],
    ["", 0],
  ])("%j takes %i columns, and is not cut into pieces", (text, width) => {
    expect(widthOf(text)).toBe(width);
    expect(cutTo(text.repeat(5), width * 2 + 1)).toBe(width === 0 ? "" : `${text.repeat(2)}…`);
  });
});

describe("a time", () => {
  const now = Date.parse("2026-03-10T12:00:00.000Z");

  test.each([
    ["90m", "2026-03-10T10:30:00.000Z"],
    ["7d", "2026-03-03T12:00:00.000Z"],
    ["2026-01-31", "2026-01-31T00:00:00.000Z"],
    ["2026-01-31T12:00", "2026-01-31T12:00:00.000Z"],
    ["2026-01-31T12:00:30.5+02:00", "2026-01-31T10:00:30.500Z"],
    ["999999d", "1970-01-01T00:00:00.000Z"],
  ])("is read from %s", (text, iso) => {
    expect(parseTime("--since", text, now)).toBe(iso);
  });

  test.each(["", "now", "1w", "-1d", "1.5h", "2026-13-01", "2026-01-31 12:00", "31.1.2026", "2026", "2026-02-30T99:00"])(
    "is not read from %j",
    (text) => {
      expect(() => parseTime("--since", text, now)).toThrow(
        expect.objectContaining({ code: "INVALID_OPTION", message: expect.stringContaining("--since must be a time") }),
      );
    },
  );

  test("that something took is short", () => {
    expect([0.4, 999, 1_500, 90_000, null].map(shortDuration)).toEqual(["0ms", "999ms", "1.5s", "1.5m", ""]);
  });
});
