import type { SchemaObject } from "../types.js";
import { isSchemaObject } from "./schema/keywords.js";
import { createLocalResolver, type LocalResolver } from "./schema/local-reference.js";

type Scalar = "string" | "integer" | "number" | "boolean" | "null";

/** What the schema of a property wants, as far as text can become it. */
interface Wanted {
  readonly scalars: ReadonlySet<Scalar>;
  /** The wanted items, when it may be an array. */
  readonly items: Wanted | undefined;
}

const MAX_LEVELS = 16;
/** Schemas read for one property: a recursive schema doubles at every level. */
const MAX_READ = 1_000;
// JSON's form of a number (RFC 8259): no sign before it, no hexadecimal, no spaces. What is longer is no number that somebody typed.
const NUMBER = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/;
const MAX_NUMBER_CHARS = 64;

/**
 * Converts what a query string or a path can only say as text to the types that the schema's top-level properties want: `"1"` to 1, `"true"` to
 * true, one value or a repeated one to an array. Returns a copy without a prototype; the record is not changed. Whatever does not
 * convert exactly, or may be a string, stays as it is, so that validation reports it.
 */
export function coerceStrings(schema: SchemaObject, record: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const reader = new TypeReader(schema);
  const copy: Record<string, unknown> = Object.create(null);
  for (const key of Object.keys(record)) copy[key] = coerced(record[key], reader.property(key));
  return copy;
}

function coerced(value: unknown, wanted: Wanted | undefined): unknown {
  if (wanted === undefined) return value;
  if (wanted.items === undefined) return typeof value === "string" ? scalar(value, wanted.scalars) : value;
  const { items } = wanted;
  if (Array.isArray(value)) return value.map((item) => (typeof item === "string" ? scalar(item, items.scalars) : item));
  if (typeof value !== "string") return value;
  // A property that may also be a single value keeps it.
  if (wanted.scalars.has("string")) return value;
  const single = scalar(value, wanted.scalars);
  return single === value ? [scalar(value, items.scalars)] : single;
}

function scalar(text: string, wanted: ReadonlySet<Scalar>): unknown {
  if (wanted.has("string")) return text;
  if (wanted.has("boolean") && (text === "true" || text === "false")) return text === "true";
  if (wanted.has("number") || wanted.has("integer")) {
    const number = exactNumber(text);
    if (number !== undefined && (wanted.has("number") || Number.isInteger(number))) return number;
  }
  return wanted.has("null") && text === "null" ? null : text;
}

/** The number, unless it would lose digits that an identifier needs. */
function exactNumber(text: string): number | undefined {
  if (text.length > MAX_NUMBER_CHARS || !NUMBER.test(text)) return undefined;
  const number = Number(text);
  if (!Number.isFinite(number)) return undefined;
  return /^-?[0-9]+$/.test(text) && !Number.isSafeInteger(number) ? undefined : number;
}

/** Reads which types a schema allows, following local references and combinations. */
class TypeReader {
  readonly #root: SchemaObject;
  readonly #resolve: LocalResolver;
  #read = 0;

  constructor(root: SchemaObject) {
    this.#root = root;
    this.#resolve = createLocalResolver(root);
  }

  property(name: string): Wanted | undefined {
    this.#read = 0;
    const schemas = this.#propertySchemas(this.#root, name, 0);
    return schemas.length === 0 ? undefined : this.#wantedBy({ allOf: schemas }, 0);
  }

  #propertySchemas(schema: unknown, name: string, level: number): unknown[] {
    if (!isSchemaObject(schema) || level > MAX_LEVELS || ++this.#read > MAX_READ) return [];
    const { properties } = schema;
    const own = isSchemaObject(properties) && Object.hasOwn(properties, name) ? [properties[name]] : [];
    const parts = [this.#target(schema), ...listOf(schema["allOf"])];
    const branches = [...listOf(schema["anyOf"]), ...listOf(schema["oneOf"])].flatMap((branch) =>
      this.#propertySchemas(branch, name, level + 1),
    );
    const either = branches.length === 0 ? [] : [{ anyOf: branches }];
    return [...own, ...parts.flatMap((part) => this.#propertySchemas(part, name, level + 1)), ...either];
  }

  /** `undefined`: nothing is said about types, so text is as good as anything. */
  #wantedBy(schema: unknown, level: number): Wanted | undefined {
    if (!isSchemaObject(schema) || level > MAX_LEVELS || ++this.#read > MAX_READ) return undefined;
    const said: Wanted[] = [];
    const add = (wanted: Wanted | undefined) => wanted !== undefined && said.push(wanted);
    add(this.#typesOf(schema, level));
    add(this.#wantedBy(this.#target(schema), level + 1));
    for (const part of listOf(schema["allOf"])) add(this.#wantedBy(part, level + 1));
    for (const keyword of ["anyOf", "oneOf"]) {
      const branches = listOf(schema[keyword]).map((branch) => this.#wantedBy(branch, level + 1));
      if (branches.length > 0 && !branches.includes(undefined)) add(branches.reduce(union));
    }
    return said.length === 0 ? undefined : said.reduce(intersection);
  }

  #typesOf(schema: SchemaObject, level: number): Wanted | undefined {
    const types = schema["type"] === undefined ? typesOfValues(schema) : [schema["type"]].flat();
    if (types === undefined) return undefined;
    const scalars = new Set(types.filter(isScalar));
    if (schema["nullable"] === true) scalars.add("null");
    if (!types.includes("array")) return { scalars, items: undefined };
    return { scalars, items: this.#wantedBy(schema["items"], level + 1) ?? { scalars: new Set(["string"]), items: undefined } };
  }

  #target(schema: SchemaObject): unknown {
    return typeof schema["$ref"] === "string" ? this.#resolve(schema["$ref"]) : undefined;
  }
}

/** The types of the values that `enum` or `const` lists. */
function typesOfValues(schema: SchemaObject): string[] | undefined {
  const values = Array.isArray(schema["enum"]) ? schema["enum"] : Object.hasOwn(schema, "const") ? [schema["const"]] : undefined;
  return values?.map((value: unknown) => (value === null ? "null" : Array.isArray(value) ? "array" : typeof value));
}

function union(a: Wanted | undefined, b: Wanted | undefined): Wanted | undefined {
  if (a === undefined || b === undefined) return undefined;
  const items = a.items && b.items ? union(a.items, b.items) : (a.items ?? b.items);
  return { scalars: new Set([...a.scalars, ...b.scalars]), items };
}

function intersection(a: Wanted, b: Wanted): Wanted {
  const scalars = new Set([...a.scalars].filter((type) => b.scalars.has(type)));
  // Every integer is a number.
  if ((a.scalars.has("integer") && b.scalars.has("number")) || (a.scalars.has("number") && b.scalars.has("integer")))
    scalars.add("integer");
  return { scalars, items: a.items && b.items ? intersection(a.items, b.items) : undefined };
}

function isScalar(type: unknown): type is Scalar {
  return type === "string" || type === "integer" || type === "number" || type === "boolean" || type === "null";
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
