import type { SchemaObject } from "../../types.js";
import { pointerToken } from "../json.js";

/**
 * What the value of a keyword is: a schema, an array of schemas, either of these, an object of schemas, an object of schemas or arrays of
 * names, definitions that only count when something refers to them, any other value that takes part in validation, or a note for readers.
 */
type KeywordKind = "schema" | "schemas" | "schemaOrSchemas" | "map" | "dependencies" | "definitions" | "value" | "note";

/** The keywords of draft 2020-12 and draft-07, with those of OpenAPI 3 that are everyday. */
const kinds: ReadonlyMap<string, KeywordKind> = new Map<string, KeywordKind>([
  ...list(
    "schema",
    "additionalItems additionalProperties contains else if not propertyNames then unevaluatedItems unevaluatedProperties",
  ),
  ...list("schemas", "allOf anyOf oneOf prefixItems"),
  ...list("schemaOrSchemas", "items"),
  ...list("map", "dependentSchemas patternProperties properties"),
  ...list("dependencies", "dependencies"),
  ...list("definitions", "$defs definitions"),
  ...list("value", "$anchor $async $dynamicAnchor $dynamicRef $recursiveAnchor $recursiveRef $ref const dependentRequired enum"),
  ...list(
    "value",
    "exclusiveMaximum exclusiveMinimum format maxContains maxItems maxLength maxProperties maximum minContains minItems",
  ),
  ...list("value", "minLength minProperties minimum multipleOf nullable pattern required type uniqueItems"),
  ...list(
    "note",
    "$comment $id $schema $vocabulary contentEncoding contentMediaType contentSchema default deprecated description",
  ),
  ...list("note", "discriminator example examples externalDocs id readOnly title writeOnly xml x-sensitive"),
]);

/** A schema inside another, with the JSON pointer from the outer to the inner. */
export interface Subschema {
  readonly keyword: string;
  readonly key: string | undefined;
  readonly schema: unknown;
  readonly pointer: string;
}

export function isKeyword(key: string): boolean {
  return kinds.has(key);
}

export const keywordNames: readonly string[] = [...kinds.keys()];

export function isSchemaObject(value: unknown): value is SchemaObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The schemas directly inside a schema that take part in validation. `definitions`: those in `$defs` and `definitions` too. */
export function* subschemasOf(schema: SchemaObject, options: { readonly definitions?: boolean } = {}): Generator<Subschema> {
  for (const keyword of Object.keys(schema)) {
    const kind = kinds.get(keyword);
    if (kind === undefined || kind === "value" || kind === "note" || (kind === "definitions" && !options.definitions)) continue;
    yield* subschemasIn(kind, keyword, schema[keyword]);
  }
}

/**
 * A copy for the compiler: without notes (an `$id` would be registered beyond this schema, an `id` or an example with an `$id` would
 * be refused), otherwise the same, so that every local reference still points at the same place.
 */
export function withoutNotes(schema: SchemaObject): SchemaObject {
  const copy: Record<string, unknown> = {};
  for (const keyword of Object.keys(schema)) {
    const kind = kinds.get(keyword);
    if (kind === "note") continue;
    copy[keyword] = kind === undefined || kind === "value" ? schema[keyword] : copyOf(kind, schema[keyword]);
  }
  return copy;
}

function* subschemasIn(kind: KeywordKind, keyword: string, value: unknown): Generator<Subschema> {
  if (Array.isArray(value)) {
    if (kind !== "schemas" && kind !== "schemaOrSchemas") return;
    for (const [index, schema] of value.entries()) {
      yield { keyword, key: String(index), schema, pointer: `/${keyword}/${index}` };
    }
    return;
  }
  if (kind === "schema" || kind === "schemaOrSchemas") {
    yield { keyword, key: undefined, schema: value, pointer: `/${keyword}` };
  } else if (isSchemaObject(value)) {
    for (const key of Object.keys(value)) {
      if (!Array.isArray(value[key])) yield { keyword, key, schema: value[key], pointer: `/${keyword}${pointerToken(key)}` };
    }
  }
}

function copyOf(kind: KeywordKind, value: unknown): unknown {
  if (Array.isArray(value)) return kind === "schemas" || kind === "schemaOrSchemas" ? value.map(copyOfSchema) : value;
  if (!isSchemaObject(value)) return value;
  if (kind === "schema" || kind === "schemaOrSchemas") return withoutNotes(value);
  return Object.fromEntries(Object.entries(value).map(([key, schema]) => [key, copyOfSchema(schema)]));
}

function copyOfSchema(value: unknown): unknown {
  return isSchemaObject(value) ? withoutNotes(value) : value;
}

function list(kind: KeywordKind, names: string): [string, KeywordKind][] {
  return names.split(" ").map((name) => [name, kind]);
}
