import { type Fault, SkillError } from "../errors.js";
import { containerFaults } from "../sandbox/container-definition.js";
import { type Skill, type SkillDefinition, type SkillMode, SYSTEM_OWNER } from "../types.js";
import type { SkillContent } from "./content.js";
import {
  checkFields,
  type FieldTable,
  identifier,
  integer,
  isObject,
  numberBetween,
  object,
  oneOf,
  text,
  textFault,
  yesOrNo,
} from "./fields.js";
import { copyJson } from "./json.js";
import { isExactVersion, nameFault } from "./reference.js";

/** A definition with every field filled in. Its schemas are plain JSON objects that are not checked yet. */
export interface ParsedDefinition {
  readonly apiKeyId: string;
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly enabled: boolean;
  readonly mode: SkillMode;
  readonly tags: readonly string[];
  readonly sourceProvider: string | null;
  readonly content: SkillContent;
}

/** What `update()` changes. */
export interface SkillUpdate {
  /** At most 1,024 characters. */
  readonly description?: string | undefined;
  /** At most 32 tags of at most 64 characters. */
  readonly tags?: readonly string[] | undefined;
}

export const DEFAULT_VERSION = "1.0.0";
const MAX_DELAY_MS = 2 ** 31 - 1;
const MAX_TAGS = 32;
const MAX_TAG_CHARS = 64;
/** What does the work. */
const WORK_FIELDS = ["handler", "container"] as const;
/** The fields that are content; the order is that of messages. */
const POLICY_FIELDS = ["timeoutMs", "retry", "concurrency", "breaker", "idempotent"] as const;

const updateFields = { description: { check: text(0, 1_024) }, tags: { check: checkTags } } satisfies FieldTable;

const fields: FieldTable = {
  name: { check: checkName, required: true },
  version: { check: checkVersion },
  description: updateFields.description,
  schema: { check: checkSchemaKind, required: true },
  outputSchema: { check: checkSchemaKind },
  handler: { check: identifier(200) },
  container: { check: checkContainer },
  apiKeyId: { check: identifier(200) },
  enabled: { check: yesOrNo },
  mode: { check: oneOf("on", "off", "auto") },
  tags: updateFields.tags,
  sourceProvider: { check: identifier(100) },
  timeoutMs: { check: integer(1, MAX_DELAY_MS) },
  retry: {
    check: object({
      limit: { check: integer(0, 100), required: true },
      backoffMs: { check: integer(0, MAX_DELAY_MS) },
      factor: { check: numberBetween(1, 100) },
      maxBackoffMs: { check: integer(0, MAX_DELAY_MS) },
      jitter: { check: yesOrNo },
    }),
  },
  concurrency: {
    check: object({ limit: { check: integer(1, 10_000), required: true }, queue: { check: integer(0, 100_000) } }),
  },
  breaker: {
    check: object({
      failures: { check: integer(1, 1_000), required: true },
      halfOpenAfterMs: { check: integer(1, MAX_DELAY_MS) },
    }),
  },
  idempotent: { check: yesOrNo },
} satisfies Record<keyof SkillDefinition, FieldTable[string]>;

/**
 * Checks a definition and fills in its defaults. A property that is `undefined` counts as absent.
 * @throws INVALID_DEFINITION with every fault and its JSON pointer
 */
export function parseDefinition(definition: unknown, options: { readonly patterns: Skill["patterns"] }): ParsedDefinition {
  return completed(parsedFields(definition, fields) as unknown as SkillDefinition, options.patterns);
}

/** @throws INVALID_DEFINITION with every fault */
export function parseUpdate(update: unknown): SkillUpdate {
  return parsedFields(update, updateFields) as SkillUpdate;
}

/** One error for all faults of a definition. */
export function invalidDefinition(faults: readonly Fault[], definition?: unknown): SkillError {
  const name = isObject(definition) && typeof definition["name"] === "string" ? definition["name"] : "";
  const of = nameFault(name) === undefined ? ` of ${name}` : "";
  const list = faults.map(({ pointer, message }) => `${pointer === "" ? "it" : pointer} ${message}`).join("; ");
  // Pointers hold the definition's own keys; a message goes to terminals.
  const shown = list.replace(/\p{Cc}/gu, "?");
  return new SkillError("INVALID_DEFINITION", `The definition${of} is not valid: ${shown}.`, { faults });
}

function parsedFields(value: unknown, table: FieldTable): Record<string, unknown> {
  const faults: Fault[] = [];
  const copy = copyJson(value, "", faults);
  if (faults.length === 0) {
    if (!isObject(copy)) faults.push({ pointer: "", message: "must be an object" });
    else checkFields(copy, table, "", faults);
    if (table === fields && isObject(copy)) checkWork(copy, faults);
  }
  if (faults.length > 0) throw invalidDefinition(faults, copy);
  return copy as Record<string, unknown>;
}

function completed(given: SkillDefinition, patterns: Skill["patterns"]): ParsedDefinition {
  const rest: Record<string, unknown> = {};
  for (const field of [...WORK_FIELDS, ...POLICY_FIELDS]) if (given[field] !== undefined) rest[field] = given[field];
  return {
    apiKeyId: given.apiKeyId ?? SYSTEM_OWNER,
    name: given.name,
    version: given.version ?? DEFAULT_VERSION,
    description: given.description ?? "",
    enabled: given.enabled ?? true,
    mode: given.mode ?? "on",
    tags: [...new Set(given.tags ?? [])],
    sourceProvider: given.sourceProvider ?? null,
    content: { schema: given.schema, outputSchema: given.outputSchema ?? null, patterns, ...rest },
  };
}

function checkName(value: unknown, pointer: string, faults: Fault[]): void {
  const wrong = typeof value === "string" ? nameFault(value) : "must be a string";
  if (wrong !== undefined) faults.push({ pointer, message: wrong });
}

function checkVersion(value: unknown, pointer: string, faults: Fault[]): void {
  if (typeof value === "string" && isExactVersion(value)) return;
  const message =
    typeof value === "string" && value.includes("+")
      ? "must not have build metadata (+)"
      : "must be an exact semantic version such as 1.2.3 or 2.0.0-rc.1, without v and spaces";
  faults.push({ pointer, message });
}

function checkContainer(value: unknown, pointer: string, faults: Fault[]): void {
  faults.push(...containerFaults(value).map((fault) => ({ pointer: pointer + fault.pointer, message: fault.message })));
}

function checkWork(definition: Record<string, unknown>, faults: Fault[]): void {
  const given = WORK_FIELDS.filter((field) => definition[field] !== undefined);
  if (given.length === 0) faults.push({ pointer: "/handler", message: "is required, unless a container does the work" });
  if (given.length === 2)
    faults.push({ pointer: "/container", message: "cannot stand beside a handler: one of the two does the work" });
}

function checkSchemaKind(value: unknown, pointer: string, faults: Fault[]): void {
  if (!isObject(value)) faults.push({ pointer, message: "must be a JSON Schema object" });
}

function checkTags(value: unknown, pointer: string, faults: Fault[]): void {
  if (!Array.isArray(value) || value.length > MAX_TAGS) {
    faults.push({ pointer, message: `must be an array of at most ${MAX_TAGS} strings` });
    return;
  }
  for (const [index, tag] of value.entries()) {
    const wrong = textFault(tag, 1, MAX_TAG_CHARS);
    if (wrong !== undefined) faults.push({ pointer: `${pointer}/${index}`, message: wrong });
  }
}
