import { expect, test } from "vitest";
import { createLiveLines } from "../../../lib/sandbox/live-lines.js";

/** What is told after each chunk, and at the end. */
function tell(chunks: readonly (string | Buffer)[], secrets: readonly string[] = []): string[] {
  const told: string[] = [];
  const lines = createLiveLines(secrets, (text) => told.push(text));
  for (const chunk of chunks) lines.push(Buffer.from(chunk));
  lines.end();
  return told;
}

function inPieces(text: string, size: number): string[] {
  return Array.from({ length: Math.ceil(text.length / size) }, (_, n) => text.slice(n * size, (n + 1) * size));
}

test("lines are told when they are whole, and what is left at the end", () => {
  expect(tell(["a\nb", "c\nd\ne"])).toEqual(["a\n", "bc\nd\n", "e"]);
  expect(tell(["", "\n"])).toEqual(["\n"]);
  expect(tell([])).toEqual([]);
});

test("a character in two chunks is whole, and half of one at the end is no error", () => {
  const euro = Buffer.from("€\n");
  expect(tell([euro.subarray(0, 2), euro.subarray(2)])).toEqual(["€\n"]);
  expect(tell([euro.subarray(0, 2)])).toEqual(["\ufffd"]);
});

test("a secret is never told, in however many chunks it comes", () => {
  const secret = "hunter2-hunter2";
  const text = `before ${secret} after\nnext ${secret}`;
  for (let size = 1; size <= text.length; size++) {
    const chunks = inPieces(text, size);
    expect(tell(chunks, [secret]).join("")).toBe("before [redacted] after\nnext [redacted]");
  }
});

test("a secret of several lines is not told line by line", () => {
  const secret = "-----BEGIN\nAAAA\nBBBB\n-----END";
  const text = `key:\n${secret}\ndone\n${"more words\n".repeat(5)}`;
  for (let size = 1; size <= text.length; size++) {
    const chunks = inPieces(text, size);
    expect(tell(chunks, [secret]).join("")).toBe(`key:\n[redacted]\ndone\n${"more words\n".repeat(5)}`);
  }
});

test("a line without an end is told in pieces, and takes little memory; a secret over their border is not told", () => {
  const told = tell(Array.from({ length: 100 }, () => "x".repeat(1_000)));
  expect(told.join("")).toHaveLength(100_000);
  expect(Math.max(...told.map((text) => text.length))).toBeLessThan(6_000);
  const secret = "s3cret-s3cret";
  for (let before = 4_080; before < 4_110; before++) {
    const line = `${"x".repeat(before)}${secret}${"y".repeat(5_000)}`;
    const hidden = tell(inPieces(line, 7), [secret]).join("");
    expect(hidden).toBe(`${"x".repeat(before)}[redacted]${"y".repeat(5_000)}`);
  }
});

test("what the engine prints first is left out, and the same words of a program later are not", () => {
  const warning = "WARNING: Your kernel does not support swap limit capabilities.\n";
  expect(tell([warning, "own\n", warning]).join("")).toBe(`own\n${warning}`);
  expect(tell([`${warning}${warning}own`]).join("")).toBe("own");
  expect(tell([warning])).toEqual([]);
});
