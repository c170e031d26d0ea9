import { PatternSize } from "./pattern-size.js";

/** A pattern that the linear-time engine cannot run. The message says why, without the pattern. */
export class PatternRefusal extends Error {}

/** Instructions of one pattern, and of all patterns of a schema. */
export const MAX_PATTERN_SIZE = 4_000;

/** What JavaScript counts as white space (ECMA-262, WhiteSpace and LineTerminator), as the inside of a class. */
const SPACE = "\\x{9}-\\x{d}\\x{20}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}\\x{feff}";
const NO_SPACE =
  "\\x{0}-\\x{8}\\x{e}-\\x{1f}\\x{21}-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}\\x{202a}-\\x{202e}" +
  "\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{fefe}\\x{ff00}-\\x{10ffff}";
const NO_LINE_END = "[^\\x{a}\\x{d}\\x{2028}\\x{2029}]";
const ANYTHING = "[\\x{0}-\\x{10ffff}]";
const NOTHING = "[^\\x{0}-\\x{10ffff}]";

const CONTROL_ESCAPES: ReadonlyMap<string, string> = new Map([
  ["t", hex(9)],
  ["n", hex(10)],
  ["v", hex(11)],
  ["f", hex(12)],
  ["r", hex(13)],
  ["0", hex(0)],
]);

/** The engine knows general categories by their short names only. */
const LONG_CATEGORIES: ReadonlyMap<string, string> = new Map([
  ["Letter", "L"],
  ["Uppercase_Letter", "Lu"],
  ["Lowercase_Letter", "Ll"],
  ["Mark", "M"],
  ["Number", "N"],
  ["Decimal_Number", "Nd"],
  ["Punctuation", "P"],
  ["Symbol", "S"],
  ["Separator", "Z"],
]);

/**
 * Rewrites a JavaScript pattern (flag `u`, already known to be one) in RE2 syntax with the same meaning. RE2 reads `.`, `\s`, `[`
 * inside a class, `\u`, `\b` inside a class and named groups differently, so that passing the text on would change what a schema accepts.
 * @throws PatternRefusal for look-around, back-references and inline flags, which no linear-time engine has, and for a pattern that is too large
 */
export function translatePattern(pattern: string): string {
  let translated = "";
  const size = new PatternSize();
  for (let at = 0; at < pattern.length; ) {
    const [text, next] = translatePart(pattern, at);
    size.add(pattern.slice(at, next));
    translated += text;
    at = next;
  }
  if (size.total > MAX_PATTERN_SIZE) throw new PatternRefusal(`becomes more than ${MAX_PATTERN_SIZE} instructions`);
  return translated;
}

/** The translation of what starts at `at`, and where the next part starts. */
type Part = readonly [text: string, next: number];

function translatePart(pattern: string, at: number): Part {
  const character = pattern[at];
  switch (character) {
    case "\\":
      return translateEscape(pattern, at, false);
    case "[":
      return translateClass(pattern, at);
    case "(":
      return translateGroup(pattern, at);
    case "{": {
      const end = pattern.indexOf("}", at) + 1;
      return [pattern.slice(at, end), end];
    }
    case ".":
      return [NO_LINE_END, at + 1];
    case ")":
    case "|":
    case "^":
    case "$":
    case "*":
    case "+":
    case "?":
      return [character, at + 1];
    default:
      return literal(pattern, at);
  }
}

function translateGroup(pattern: string, at: number): Part {
  if (pattern[at + 1] !== "?") return ["(?:", at + 1];
  if (pattern[at + 2] === ":") return ["(?:", at + 3];
  if (/^\(\?<?[=!]/.test(pattern.slice(at, at + 4))) throw new PatternRefusal("uses look-around");
  if (pattern[at + 2] === "<") return ["(?:", pattern.indexOf(">", at) + 1];
  throw new PatternRefusal("uses inline flags");
}

function translateClass(pattern: string, at: number): Part {
  const negated = pattern[at + 1] === "^";
  let next = negated ? at + 2 : at + 1;
  if (pattern[next] === "]") return [negated ? ANYTHING : NOTHING, next + 1];
  let inside = "";
  while (pattern[next] !== "]") {
    const [text, end] = pattern[next] === "\\" ? translateEscape(pattern, next, true) : classCharacter(pattern, next);
    inside += text;
    next = end;
  }
  return [`[${negated ? "^" : ""}${inside}]`, next + 1];
}

function classCharacter(pattern: string, at: number): Part {
  return pattern[at] === "-" ? ["-", at + 1] : literal(pattern, at);
}

function translateEscape(pattern: string, at: number, inClass: boolean): Part {
  const letter = pattern[at + 1] ?? "";
  if (letter === "k" || (letter >= "1" && letter <= "9")) throw new PatternRefusal("uses a back-reference");
  if (letter === "b" && inClass) return [hex(8), at + 2];
  if ("dDwWbB".includes(letter)) return [`\\${letter}`, at + 2];
  if (letter === "s" || letter === "S") {
    const members = letter === "s" ? SPACE : NO_SPACE;
    return [inClass ? members : `[${members}]`, at + 2];
  }
  const control = CONTROL_ESCAPES.get(letter);
  if (control !== undefined) return [control, at + 2];
  if (letter === "c") return [hex((pattern.charCodeAt(at + 2) || 0) % 32), at + 3];
  if (letter === "x") return [hex(Number.parseInt(pattern.slice(at + 2, at + 4), 16)), at + 4];
  if (letter === "u") return unicodeEscape(pattern, at);
  if (letter === "p" || letter === "P") return propertyEscape(pattern, at, letter);
  return literal(pattern, at + 1);
}

function unicodeEscape(pattern: string, at: number): Part {
  if (pattern[at + 2] === "{") {
    const end = pattern.indexOf("}", at);
    return [hex(Number.parseInt(pattern.slice(at + 3, end), 16)), end + 1];
  }
  const pair = /^\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})/i.exec(pattern.slice(at, at + 12));
  if (pair === null) return [hex(Number.parseInt(pattern.slice(at + 2, at + 6), 16)), at + 6];
  const units = [pair[1], pair[2]].map((unit) => Number.parseInt(unit ?? "", 16));
  return [hex(String.fromCharCode(...units).codePointAt(0) ?? 0), at + 12];
}

function propertyEscape(pattern: string, at: number, letter: string): Part {
  const end = pattern.indexOf("}", at);
  const name = pattern.slice(at + 3, end).replace(/^(?:Script|sc|General_Category|gc)=/, "");
  return [`\\${letter}{${LONG_CATEGORIES.get(name) ?? name}}`, end + 1];
}

function literal(pattern: string, at: number): Part {
  const codePoint = pattern.codePointAt(at) ?? 0;
  const character = String.fromCodePoint(codePoint);
  return [/^[0-9A-Za-z]$/.test(character) ? character : hex(codePoint), at + character.length];
}

function hex(codePoint: number): string {
  return `\\x{${codePoint.toString(16)}}`;
}
