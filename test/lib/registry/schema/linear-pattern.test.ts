import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compileLinearPattern, StepBudget, StepsExceeded } from "../../../../lib/registry/schema/linear-pattern.js";

const compile = (pattern: string) => compileLinearPattern(pattern, new StepBudget());
/** How long the quickest of so many took, in milliseconds. */
function bestOf(times: number, work: () => unknown): number {
  return Math.min(
    ...Array.from({ length: times }, () => {
      const startedAtMs = performance.now();
      work();
      return performance.now() - startedAtMs;
    }),
  );
}
const matches = (pattern: string, text: string) => compile(pattern).test(text);

describe("a pattern means what JavaScript means by it", () => {
  test.each([
    ["^.$", ["\n", "\r", "\u2028", "a", "😀"]],
    ["^\\s+$", [" ", "\u00a0", "\ufeff", "\v", "\u2029", "a", "\u180e"]],
    ["^\\S$", [" ", "\u00a0", "\u3000", "a", "\u{1F600}"]],
    ["^[\\s\\d]+$", ["1 \u00a0", "a"]],
    ["^[^\\S]$", [" ", "\u00a0", "a"]],
    ["^[\\S]$", [" ", "\u00a0", "a"]],
    ["^\\d$", ["1", "٣"]],
    ["^\\w$", ["a", "_", "é"]],
    ["\\bcat\\b", ["a cat sat", "concat", "écat"]],
    ["^\\u0041\\u{1F600}\\uD83D\\uDE00$", ["A😀😀", "A😀"]],
    ["^[\\u0041-\\u0043]$", ["B", "D"]],
    ["^[\\b]$", ["\b", "b"]],
    ["^\\x41\\cA\\0$", ["A\u0001\0", "A"]],
    ["^[\\[:alph\\]]+$", ["a", ":]", "[]", "l", "z"]],
    ["^(?<year>\\d{4})-(?:0[1-9]|1[0-2])$", ["2024-01", "2024-13"]],
    ["^[^]$", ["\n", "a", ""]],
    ["[]", ["a", ""]],
    ["a$", ["a", "a\n"]],
    ["^a|b$", ["ac", "cb", "cac"]],
    ["^\\p{L}+$", ["é", "1"]],
    ["^\\p{Letter}\\p{Script=Greek}\\P{Lu}$", ["éαa", "éaa", "éαA"]],
    ["^\\/\\.\\-?$", ["/.", "/.-", "/x"]],
    ["^[\\w.+-]+@[a-z-]+\\.[a-z]{2,}$", ["a.b+c@x-y.org", "a@b", "@x.org"]],
    ["^[+--]$", [",", "+", "*"]],
    ["^a{2,3}?b{2}$", ["aabb", "aaaabb"]],
    ["^\\t\\n\\v\\f\\r$", ["\t\n\v\f\r", "t"]],
    ["^#[0-9a-fA-F]{6}$", ["#00ffAA", "#00ffAG"]],
    ["^😀?$", ["", "😀", "\ud83d"]],
  ])("%s", (pattern, texts) => {
    // A hyphen needs no escape outside a class, and JavaScript refuses one there.
    const valid = pattern.replace("\\.\\-?", "\\.-?");
    for (const text of texts) expect([text, matches(valid, text)]).toEqual([text, new RegExp(valid, "u").test(text)]);
  });

  test("for any pattern made of everyday parts and any text", () => {
    const atom = fc.constantFrom(
      ..."ab1-é ",
      "\\d",
      "\\w",
      "\\s",
      "\\S",
      "\\W",
      "\\D",
      ".",
      "[ab]",
      "[^a1]",
      "[\\s-]",
      "\\b",
      "\\u0061",
      "\\x62",
      "[\\w\\-]",
      "\\.",
      "^",
      "$",
    );
    const pattern = fc.letrec<{ node: string }>((tie) => ({
      node: fc.oneof(
        { depthSize: "small" },
        atom,
        fc.tuple(tie("node"), tie("node")).map(([a, b]) => a + b),
        fc.tuple(tie("node"), tie("node")).map(([a, b]) => `(${a}|${b})`),
        fc.tuple(tie("node"), fc.constantFrom("*", "+", "?", "{1,3}", "*?", "{2}")).map(([a, times]) => `(?:${a})${times}`),
      ),
    })).node;
    const text = fc
      .array(fc.constantFrom("a", "b", "1", "-", "é", " ", "\n", "\u00a0", ".", "_", "😀"), { maxLength: 12 })
      .map((parts) => parts.join(""));
    fc.assert(
      fc.property(pattern, fc.array(text, { minLength: 3, maxLength: 6 }), (source, texts) => {
        const native = new RegExp(source, "u");
        const linear = compile(source);
        for (const each of texts) expect([each, linear.test(each)]).toEqual([each, native.test(each)]);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe("what a linear-time engine lacks is refused with that reason", () => {
  test.each([
    ["(?=a)b", /look-around/],
    ["(?!a)b", /look-around/],
    ["(?<=a)b", /look-around/],
    ["(?<!a)b", /look-around/],
    ["^(?=.*[A-Z])(?=.*\\d).{8,}$", /look-around/],
    ["(a)\\1", /back-reference/],
    ["(?<n>a)\\k<n>", /back-reference/],
    ["\\k", /no regular expression/],
    ["(", /no regular expression/],
    ["[b-a]", /no regular expression/],
    ["\\u{110000}", /no regular expression/],
    ["\\A", /no regular expression/],
    ["\\Qa\\E", /no regular expression/],
    ["a**", /no regular expression/],
    ["a{1001}", /linear-time engine/],
    ["(?:a{100}){100}", /4000 instructions/],
    ["\\p{scx=Greek}", /linear-time engine/],
    ["a".repeat(2_001), /longer than 2000/],
    ["(".repeat(1_000), /no regular expression/],
  ])("%j", (pattern, message) => {
    expect(() => compile(pattern)).toThrow(message);
  });
});

test("any text is a pattern that compiles, or is refused: nothing else is thrown", () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string({ unit: "binary" }),
        fc.array(fc.constantFrom(..."()[]{}*+?^$|\\.-ukpPdbB0129<>=!:,aA")).map((parts) => parts.join("")),
      ),
      (source) => {
        try {
          compile(source).test("aA09");
        } catch (error) {
          expect((error as Error).constructor.name).toBe("PatternRefusal");
        }
      },
    ),
    { numRuns: 3_000 },
  );
});

test("a short pattern of many counts is refused before it is compiled", () => {
  const parts = ["(?:a{1,900}|b{1,900})*", "(?:(?:(?:a{9}){9}){9})", "[^\\p{L}]{1000}", "(?:ab){999,}"];
  const refusedMs = bestOf(3, () => {
    for (const part of parts) expect(() => compile(part.repeat(Math.floor(2_000 / part.length)))).toThrow(/4000 instructions/);
  });
  // Together they have a hundred times the instructions of this one.
  const compiledMs = bestOf(3, () => compile("(?:a{1,900}|b{1,900})*"));
  expect(refusedMs).toBeLessThan(10 * compiledMs);
});

test("nested quantifiers do not multiply", () => {
  for (const pattern of ["^(a+)+$", "^(a|a)*$", "^(a*)*b$", "^([a-z]+)*\\d$", "(x+x+)+y"]) {
    const linear = compile(pattern);
    const tookMs = (length: number) => bestOf(5, () => expect(linear.test(`${"a".repeat(length)}!`)).toBe(false));
    const ofShortMs = tookMs(2_000);
    // Ten times in proportion, a hundred times if it were by the square.
    expect(tookMs(20_000)).toBeLessThan(30 * ofShortMs);
  }
});

test("a large pattern on a large text is given up before it takes seconds", () => {
  const linear = compile("^(?:[ab]*a[ab]{900})$");
  expect(() => linear.test("ab".repeat(100_000))).toThrow(StepsExceeded);
});

test("two patterns tell themselves apart by their text", () => {
  expect(String(compile("^a$"))).not.toBe(String(compile("^b$")));
});
