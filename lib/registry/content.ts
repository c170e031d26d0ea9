import { createHash } from "node:crypto";
import { SkillError } from "../errors.js";
import type { ContainerSpec, RunPolicy, SchemaObject, Skill } from "../types.js";
import { canonicalJson } from "./json.js";

/** Everything that is immutable per name and version. */
export interface SkillContent extends RunPolicy {
  readonly schema: SchemaObject;
  readonly outputSchema: SchemaObject | null;
  /** Either this or `container`. */
  readonly handler?: string;
  readonly container?: ContainerSpec;
  readonly patterns: Skill["patterns"];
}

/** Content as it is stored and compared: canonical text and its SHA-256. */
export interface EncodedContent {
  readonly text: string;
  readonly hash: string;
}

export function encodeContent(content: SkillContent): EncodedContent {
  const text = canonicalJson(content);
  return { text, hash: createHash("sha256").update(text).digest("hex") };
}

/**
 * Reads stored content back.
 * @throws STORED_SKILL_INVALID when the text is not what this package writes, or does not belong to the hash: it was changed by hand
 */
export function decodeContent(text: string, hash: string, of: { readonly name: string; readonly version: string }): SkillContent {
  try {
    const value: unknown = JSON.parse(text);
    if (isContent(value) && encodeContent(value).hash === hash) return value;
  } catch (cause) {
    throw damaged(of, "its content is not JSON", cause);
  }
  throw damaged(of, "its content was changed outside the registry");
}

/** The names of the fields in which two contents differ. */
export function differingFields(a: SkillContent, b: SkillContent): readonly string[] {
  const left = a as unknown as Record<string, unknown>;
  const right = b as unknown as Record<string, unknown>;
  const keys = [...new Set([...Object.keys(left), ...Object.keys(right)])].sort();
  return keys.filter((key) => canonicalJson(left[key] ?? null) !== canonicalJson(right[key] ?? null));
}

export function damaged(of: { readonly name: string; readonly version: string }, problem: string, cause?: unknown): SkillError {
  return new SkillError(
    "STORED_SKILL_INVALID",
    `The stored skill ${of.name}@${of.version} cannot be used: ${problem}. Register it again with replace: true.`,
    { cause },
  );
}

function isContent(value: unknown): value is SkillContent {
  if (!isObject(value) || !isObject(value["schema"])) return false;
  if (value["outputSchema"] !== null && !isObject(value["outputSchema"])) return false;
  const isHandler = typeof value["handler"] === "string" && value["container"] === undefined;
  if (!isHandler && !(value["handler"] === undefined && isObject(value["container"]))) return false;
  return value["patterns"] === "linear" || value["patterns"] === "native";
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
