import semver from "semver";
import { SkillError } from "../errors.js";
import type { SkillHandle } from "../types.js";

/** What a caller asks for: a name and the versions that will do. Frozen. */
export interface ParsedReference {
  readonly name: string;
  /** `latest`, an exact version, or a node-semver range with single spaces. */
  readonly range: string;
}

/** A reference as a caller may give it: text, or a handle. */
export type ReferenceLike = string | Pick<SkillHandle, "reference">;

export const LATEST = "latest";
export const MAX_NAME_CHARS = 100;
export const MAX_RANGE_CHARS = 128;

// Linear: no part can match the same character in two ways.
const NAME = /^(?:@[A-Za-z0-9][A-Za-z0-9_.-]*\/)?[A-Za-z][A-Za-z0-9_.-]*$/;
const RANGE_CHARACTERS = /^[0-9A-Za-z.*^~<>=| -]+$/;
/** A version with a `v` before its number, wherever a range may hold one. */
const LOOSE_VERSION = /(?:^|[ ^~<>=|])v/i;
const FORMS =
  'write "name", "name@latest", "name@1.2.3", or "name@" and a range such as ^1.2, ~1.2.3, 1.x, ">=1 <3" or "^1 || ^3"';

/**
 * Reads `name`, `name@version`, `name@range`, `name@latest` or `@scope/name@range`; it splits at the last `@` after position 0. A bare
 * name means `latest`: the highest enabled version that is no prerelease. Ranges are node-semver ranges of at most 128 characters.
 * @throws INVALID_REFERENCE saying what is wrong and what is allowed
 * @since 0.1.0
 */
export function parseReference(reference: ReferenceLike): ParsedReference {
  const text = referenceText(reference);
  if (text.length > MAX_NAME_CHARS + 1 + MAX_RANGE_CHARS) {
    throw invalid(text, `is longer than ${MAX_NAME_CHARS + 1 + MAX_RANGE_CHARS} characters`);
  }
  const at = text.lastIndexOf("@");
  if (at <= 0) return Object.freeze({ name: checkedName(text, text), range: LATEST });
  return Object.freeze({ name: checkedName(text.slice(0, at), text), range: checkedRange(text.slice(at + 1), text) });
}

/**
 * Reads the range of a skill whose name is given apart from it.
 * @throws INVALID_REFERENCE
 */
export function parseNameAndRange(name: string, range: string): ParsedReference {
  if (typeof name !== "string") throw new SkillError("INVALID_REFERENCE", "The name of a skill must be a string.");
  if (typeof range !== "string") throw new SkillError("INVALID_REFERENCE", "The range of a reference must be a string.");
  return Object.freeze({ name: checkedName(name, name), range: checkedRange(range, range) });
}

/** Why the text is no name of a skill, or `undefined` when it is one. */
export function nameFault(name: string): string | undefined {
  if (name === "") return "is empty";
  if (name.length > MAX_NAME_CHARS) return `is longer than ${MAX_NAME_CHARS} characters`;
  if (NAME.test(name)) return undefined;
  return "must be an optional @scope/, then a letter, then letters, digits, _ . -";
}

/** Whether the text is an exact version (semver 2.0.0) in its only accepted form: no `v`, no build metadata, no spaces. */
export function isExactVersion(text: string): boolean {
  return text.length <= MAX_RANGE_CHARS && semver.valid(text) === text;
}

/** Text of a user for a message: quoted, without control characters, cut. */
export function quoted(text: string, maxChars = 80): string {
  return JSON.stringify(text.length > maxChars ? `${text.slice(0, maxChars)}...` : text);
}

function referenceText(reference: unknown): string {
  if (typeof reference === "string") return reference;
  if (typeof reference === "object" && reference !== null) {
    const text: unknown = (reference as { reference?: unknown }).reference;
    if (typeof text === "string") return text;
  }
  throw new SkillError("INVALID_REFERENCE", `A skill reference must be a string or a handle from define(); ${FORMS}.`);
}

function checkedName(name: string, text: string): string {
  const fault = nameFault(name);
  if (fault !== undefined) throw invalid(text, `has no valid name: the name ${fault}`);
  return name;
}

function checkedRange(given: string, text: string): string {
  if (given.length > MAX_RANGE_CHARS) throw invalid(text, `has a range of more than ${MAX_RANGE_CHARS} characters`);
  const range = given.replaceAll("\t", " ").trim().replace(/ +/g, " ");
  if (range === "") throw invalid(text, "has nothing after its last @");
  if (range === LATEST || isExactVersion(range)) return range;
  if (range.includes("+")) throw invalid(text, "names build metadata (+), which versions here never have");
  if (!RANGE_CHARACTERS.test(range)) throw invalid(text, "has a character in its range that no range can have");
  if (LOOSE_VERSION.test(range)) throw invalid(text, 'writes a version with a "v": leave it out, versions here never have it');
  if (range.split("||").some((alternative) => alternative.trim() === "")) throw invalid(text, "has nothing on one side of ||");
  if (range.startsWith("=") && isExactVersion(range.slice(1).trim())) return range.slice(1).trim();
  if (semver.validRange(range) === null) throw invalid(text, "has neither a version nor a range that can be read after its @");
  return range;
}

function invalid(text: string, problem: string): SkillError {
  return new SkillError("INVALID_REFERENCE", `The skill reference ${quoted(text)} ${problem}; ${FORMS}.`);
}
