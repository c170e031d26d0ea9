import type { Fault } from "../../errors.js";
import { nearest } from "../../nearest.js";
import type { SchemaObject, Skill } from "../../types.js";
import { pointerToken } from "../json.js";
import { isKeyword, isSchemaObject, keywordNames, type Subschema, subschemasOf } from "./keywords.js";
import { checkPatternSyntax, compileLinearPattern, StepBudget } from "./linear-pattern.js";
import { createLocalResolver, type LocalResolver } from "./local-reference.js";
import { MAX_PATTERN_SIZE, PatternRefusal } from "./pattern-translation.js";

/** Bounds of a registrant's schema: a small one can stop a server, each of these is a way to do it. */
export const linearLimits = {
  maxBytes: 32 * 1024,
  /** Schemas that one value may be checked against, every `$ref` followed each time. */
  maxSubschemas: 256,
  maxLevels: 64,
  /** Values in `enum` and names in `required` and the like, every `$ref` followed: each is a comparison per value. */
  maxListed: 1_000,
  /** Instructions of all patterns together, every `$ref` followed. */
  maxPatternSize: MAX_PATTERN_SIZE,
  maxUniqueItems: 100,
} as const;

/** The operator's own schemas are trusted; this bounds an accident. */
export const NATIVE_MAX_BYTES = 256 * 1024;

const MAX_FAULTS = 20;
const REFUSED_FORMATS: ReadonlyMap<string, string> = new Map([
  ["url", 'takes time that grows faster than the text; use "uri"'],
  ["regex", "compiles whatever the caller sends; leave it out"],
]);

/**
 * Looks for what the compiler must not get, or would take without a word: JSON that is no schema, references beyond the schema, `$async`, and
 * in a registrant's schema whatever can be made slow. Pointers start at the schema.
 */
export function inspectSchema(schema: SchemaObject, patterns: Skill["patterns"]): readonly Fault[] {
  const bytes = Buffer.byteLength(JSON.stringify(schema));
  const maxBytes = patterns === "linear" ? linearLimits.maxBytes : NATIVE_MAX_BYTES;
  if (bytes > maxBytes) return [{ pointer: "", message: `has ${bytes} bytes of JSON; at most ${maxBytes} are allowed` }];
  const stranger = noSchemaAtAll(schema);
  if (stranger !== undefined) return [stranger];
  const inspection = new Inspection(schema, patterns);
  inspection.visit(schema, "", []);
  inspection.visitDefinitions(schema, "");
  return inspection.faults;
}

function noSchemaAtAll(schema: SchemaObject): Fault | undefined {
  const keys = Object.keys(schema);
  const first = keys[0];
  if (first === undefined || keys.some(isKeyword)) return undefined;
  const meant = nearest(first, keywordNames);
  const hint = meant === undefined ? 'write { "type": "object", "properties": { ... } }' : `did you mean "${meant}"?`;
  return { pointer: pointerToken(first), message: `is no JSON Schema keyword, and the schema has no other; ${hint}` };
}

class Inspection {
  readonly faults: Fault[] = [];
  readonly #resolve: LocalResolver;
  readonly #linear: boolean;
  readonly #patternSizes = new Map<string, number>();
  readonly #visited = new Set<object>();
  #subschemas = 0;
  #listed = 0;
  #patternSize = 0;
  /** Following references further could take for ever. */
  #tooLarge = false;

  constructor(root: SchemaObject, patterns: Skill["patterns"]) {
    this.#resolve = createLocalResolver(root);
    this.#linear = patterns === "linear";
  }

  /** `outer`: the schemas that this one is inside of or was reached from. */
  visit(schema: unknown, pointer: string, outer: readonly object[]): void {
    if (this.#tooLarge || this.#isFull() || (this.#linear && !this.#countSubschema(pointer, outer.length))) return;
    if (!isSchemaObject(schema)) return;
    if (!this.#linear && this.#visited.has(schema)) return;
    this.#visited.add(schema);
    this.#checkKeywords(schema, pointer, outer.length === 0);
    if (typeof schema["pattern"] === "string") this.#addPattern(schema["pattern"], `${pointer}/pattern`);
    if (this.#linear) this.#checkCost(schema, pointer);
    const path = [...outer, schema];
    this.#followReferences(schema, pointer, path);
    for (const inner of subschemasOf(schema)) this.#visitInner(inner, pointer, path);
  }

  /** Definitions that nothing refers to cost nothing, but may hold what the compiler must not see. */
  visitDefinitions(schema: unknown, pointer: string): void {
    if (!isSchemaObject(schema) || this.#isFull()) return;
    if (!this.#visited.has(schema)) this.#checkKeywords(schema, pointer, false);
    for (const inner of subschemasOf(schema, { definitions: true })) this.visitDefinitions(inner.schema, pointer + inner.pointer);
  }

  #visitInner(inner: Subschema, pointer: string, path: readonly object[]): void {
    const at = pointer + inner.pointer;
    if (inner.keyword === "patternProperties" && inner.key !== undefined) this.#addPattern(inner.key, at);
    this.visit(inner.schema, at, path);
  }

  #checkKeywords(schema: SchemaObject, pointer: string, isRoot: boolean): void {
    if (Object.hasOwn(schema, "$async")) this.#add(`${pointer}/$async`, "is not allowed: a schema is checked at once");
    if (!isRoot && Object.hasOwn(schema, "$id")) {
      this.#add(`${pointer}/$id`, 'is allowed at the top only; refer to a definition by "#/$defs/name"');
    }
    const reference = schema["$ref"];
    if (typeof reference === "string" && !reference.startsWith("#")) {
      this.#add(`${pointer}/$ref`, 'refers to another document; only references within the schema ("#/$defs/name") are allowed');
    } else if (typeof reference === "string" && !isSchema(this.#resolve(reference))) {
      this.#add(`${pointer}/$ref`, "refers to nothing in this schema");
    }
    if (!this.#linear) return;
    for (const keyword of ["$dynamicRef", "$recursiveRef"]) {
      if (Object.hasOwn(schema, keyword)) this.#add(`${pointer}/${keyword}`, "is not allowed; use $ref");
    }
    const { format } = schema;
    const reason = typeof format === "string" ? REFUSED_FORMATS.get(format) : undefined;
    if (reason !== undefined) this.#add(`${pointer}/format`, `"${format}" is not allowed: it ${reason}`);
  }

  #followReferences(schema: SchemaObject, pointer: string, path: readonly object[]): void {
    const reference = schema["$ref"];
    const target = typeof reference === "string" ? this.#resolve(reference) : undefined;
    if (!isSchemaObject(target)) return;
    if (this.#linear && path.includes(target))
      this.#add(`${pointer}/$ref`, "refers to a schema that it is part of; recursion is not allowed");
    else this.visit(target, `${pointer}/$ref`, path);
  }

  #countSubschema(pointer: string, levels: number): boolean {
    this.#subschemas++;
    if (levels >= linearLimits.maxLevels) {
      this.#tooLarge = true;
      this.#add(pointer, `is nested more than ${linearLimits.maxLevels} levels deep, references followed`);
    } else {
      this.#tooLarge ||= !this.#within(this.#subschemas, linearLimits.maxSubschemas, "subschemas");
    }
    return !this.#tooLarge;
  }

  #checkCost(schema: SchemaObject, pointer: string): void {
    const { maxItems } = schema;
    if (schema["uniqueItems"] === true && !(typeof maxItems === "number" && maxItems <= linearLimits.maxUniqueItems)) {
      this.#add(`${pointer}/uniqueItems`, `is allowed only together with maxItems of at most ${linearLimits.maxUniqueItems}`);
    }
    this.#listed += listedIn(schema);
    this.#within(this.#listed, linearLimits.maxListed, "values in enum and names in required");
  }

  #addPattern(pattern: string, pointer: string): void {
    try {
      if (this.#linear) this.#patternSize += this.#sizeOf(pattern);
      else checkPatternSyntax(pattern);
      this.#tooLarge ||= !this.#within(
        this.#patternSize,
        linearLimits.maxPatternSize,
        "pattern instructions (a count such as {1,500} multiplies)",
      );
    } catch (error) {
      if (!(error instanceof PatternRefusal)) throw error;
      const where = this.#linear ? "; patterns here run on a linear-time engine" : "";
      this.#add(pointer, `has a pattern that ${error.message}${where}`);
    }
  }

  /** @throws PatternRefusal */
  #sizeOf(pattern: string): number {
    const size = this.#patternSizes.get(pattern) ?? compileLinearPattern(pattern, new StepBudget()).size;
    this.#patternSizes.set(pattern, size);
    return size;
  }

  /** One fault for each bound, when it is first passed. */
  #within(count: number, max: number, what: string): boolean {
    if (count <= max) return true;
    const message = `has more than ${max} ${what}, references followed`;
    if (!this.faults.some((fault) => fault.pointer === "" && fault.message === message)) this.#add("", message);
    return false;
  }

  #isFull(): boolean {
    return this.faults.length >= MAX_FAULTS;
  }

  #add(pointer: string, message: string): void {
    if (!this.#isFull()) this.faults.push({ pointer, message });
  }
}

function isSchema(value: unknown): boolean {
  return typeof value === "boolean" || isSchemaObject(value);
}

function listedIn(schema: SchemaObject): number {
  let count = 0;
  for (const keyword of ["enum", "required"]) {
    const listed = schema[keyword];
    if (Array.isArray(listed)) count += listed.length;
  }
  for (const keyword of ["dependentRequired", "dependencies"]) {
    const listed = schema[keyword];
    if (!isSchemaObject(listed)) continue;
    for (const names of Object.values(listed)) count += 1 + (Array.isArray(names) ? names.length : 0);
  }
  return count;
}
