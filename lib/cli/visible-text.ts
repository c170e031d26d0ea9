/** Control characters of both sets, and those that turn the direction of text: stored text must not drive the terminal. */
const UNSAFE = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;
const WIDE =
  /\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]/u;
const NO_WIDTH = /^[\p{Mark}\p{Default_Ignorable_Code_Point}]+$/u;
const PLAIN = /^[\x20-\x7e]*$/;

/** Text of a user in one line, with what would steer the terminal shown as code points. */
export function oneLine(text: string): string {
  return text.replaceAll(/[\r\n\t]+/g, " ").replaceAll(UNSAFE, escaped);
}

/** The same, with its lines kept. */
export function manyLines(text: string): string {
  return text.replaceAll("\r\n", "\n").replaceAll(UNSAFE, (character) => (character === "\n" ? "\n" : escaped(character)));
}

/** JSON that is safe on a terminal: its strings may hold what `JSON.stringify` leaves alone. */
export function jsonText(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent).replaceAll(UNSAFE, (character) => (character === "\n" ? "\n" : escaped(character)));
}

/** Columns that text takes on a terminal. */
export function widthOf(text: string): number {
  if (PLAIN.test(text)) return text.length;
  return graphemes(text).reduce((width, grapheme) => width + graphemeWidth(grapheme), 0);
}

/** At most `width` columns of the text, ending in an ellipsis when something is left out. */
export function cutTo(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let cut = "";
  let used = 0;
  for (const grapheme of graphemes(text)) {
    used += graphemeWidth(grapheme);
    if (used > width - 1) break;
    cut += grapheme;
  }
  return width < 1 ? "" : `${cut}…`;
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

function graphemes(text: string): string[] {
  return Array.from(new Intl.Segmenter().segment(text), ({ segment }) => segment);
}

function graphemeWidth(grapheme: string): number {
  if (NO_WIDTH.test(grapheme)) return 0;
  return WIDE.test(grapheme) ? 2 : 1;
}
