import type { SchemaObject, SensitiveMarks } from "../../types.js";
import { isSchemaObject } from "./keywords.js";
import { createLocalResolver, type LocalResolver } from "./local-reference.js";

/** More places than this in one schema: everything counts as sensitive. */
const MAX_PLACES = 1_000;
const SAME_PLACE = ["allOf", "anyOf", "oneOf"] as const;
const SAME_PLACE_ONE = ["if", "then", "else", "not"] as const;
const EVERY_MEMBER = [
  "items",
  "additionalItems",
  "unevaluatedItems",
  "contains",
  "additionalProperties",
  "unevaluatedProperties",
] as const;

type Marks = { here?: boolean; properties?: Map<string, SensitiveMarks>; items?: SensitiveMarks };

/**
 * Where a schema marks values with `writeOnly: true` or `x-sensitive: true`; `undefined` when nowhere. Every branch of `anyOf` and the like
 * counts, whichever one a value matches: hiding too much is safe. A recursive schema gives marks that refer to themselves.
 */
export function findSensitiveMarks(schema: SchemaObject): SensitiveMarks | undefined {
  if (!hasMark(schema)) return undefined;
  return new MarkFinder(schema).marksOf([schema]);
}

function hasMark(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return isMarked(value) || Object.values(value).some(hasMark);
}

function isMarked(schema: object): boolean {
  const { writeOnly, "x-sensitive": sensitive } = schema as SchemaObject;
  return writeOnly === true || sensitive === true;
}

class MarkFinder {
  readonly #resolve: LocalResolver;
  readonly #numbers = new Map<object, number>();
  /** By the set of schemas that apply at a place, so that a recursive schema ends. */
  readonly #places = new Map<string, Marks>();

  constructor(root: SchemaObject) {
    this.#resolve = createLocalResolver(root);
  }

  marksOf(schemas: readonly unknown[]): SensitiveMarks {
    const applying = this.#applying(schemas);
    const key = [...applying]
      .map((schema) => this.#numberOf(schema))
      .sort((a, b) => a - b)
      .join();
    const known = this.#places.get(key);
    if (known !== undefined) return known;
    const marks: Marks = {};
    this.#places.set(key, marks);
    if (this.#places.size > MAX_PLACES || [...applying].some(isMarked)) marks.here = true;
    else this.#addMembers(marks, [...applying]);
    return marks;
  }

  #addMembers(marks: Marks, schemas: readonly SchemaObject[]): void {
    const every = schemas.flatMap(membersOf);
    if (every.length > 0) marks.items = this.marksOf(every);
    const names = new Set(schemas.flatMap(({ properties }) => (isSchemaObject(properties) ? Object.keys(properties) : [])));
    if (names.size === 0) return;
    marks.properties = new Map(
      [...names].map((name) => [name, this.marksOf(schemas.flatMap((schema) => propertyOf(schema, name)))]),
    );
  }

  /** The schemas with all that apply to the same value. */
  #applying(schemas: readonly unknown[]): Set<SchemaObject> {
    const found = new Set<SchemaObject>();
    const waiting = [...schemas];
    while (waiting.length > 0) {
      const schema = waiting.pop();
      if (!isSchemaObject(schema) || found.has(schema)) continue;
      found.add(schema);
      for (const keyword of SAME_PLACE) if (Array.isArray(schema[keyword])) waiting.push(...(schema[keyword] as unknown[]));
      for (const keyword of SAME_PLACE_ONE) waiting.push(schema[keyword]);
      for (const keyword of ["dependentSchemas", "dependencies"]) waiting.push(...valuesOf(schema[keyword]));
      for (const keyword of ["$ref", "$dynamicRef"]) {
        const reference = schema[keyword];
        if (typeof reference === "string") waiting.push(this.#resolve(reference));
      }
    }
    return found;
  }

  #numberOf(schema: object): number {
    const number = this.#numbers.get(schema) ?? this.#numbers.size;
    this.#numbers.set(schema, number);
    return number;
  }
}

/** The schemas of members that no name singles out. */
function membersOf(schema: SchemaObject): unknown[] {
  const lists = [schema["prefixItems"], schema["items"]].filter(Array.isArray).flat();
  return [...EVERY_MEMBER.map((keyword) => schema[keyword]), ...lists, ...valuesOf(schema["patternProperties"])].filter(
    isSchemaObject,
  );
}

function propertyOf(schema: SchemaObject, name: string): unknown[] {
  const { properties } = schema;
  const own = isSchemaObject(properties) && Object.hasOwn(properties, name) ? properties[name] : undefined;
  const others = own === undefined ? [schema["additionalProperties"], schema["unevaluatedProperties"]] : [own];
  return [...others, ...valuesOf(schema["patternProperties"])];
}

function valuesOf(value: unknown): unknown[] {
  return isSchemaObject(value) ? Object.values(value) : [];
}
