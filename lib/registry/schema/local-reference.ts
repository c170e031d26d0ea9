import type { SchemaObject } from "../../types.js";
import { isSchemaObject, subschemasOf } from "./keywords.js";

/** Finds what a `$ref` within the same schema points at; `undefined` when there is nothing. */
export type LocalResolver = (reference: string) => unknown;

/** Resolves `#`, `#/a/JSON/pointer` (RFC 6901, as a URI fragment) and `#anchor`. */
export function createLocalResolver(root: SchemaObject): LocalResolver {
  let anchors: Map<string, SchemaObject> | undefined;
  return (reference) => {
    const fragment = decodedFragment(reference);
    if (fragment === undefined) return undefined;
    if (fragment === "") return root;
    if (fragment.startsWith("/")) return atPointer(root, fragment);
    anchors ??= collectAnchors(root);
    return anchors.get(fragment);
  };
}

function decodedFragment(reference: string): string | undefined {
  if (!reference.startsWith("#")) return undefined;
  try {
    return decodeURIComponent(reference.slice(1));
  } catch {
    return undefined;
  }
}

function atPointer(root: unknown, pointer: string): unknown {
  let value: unknown = root;
  for (const token of pointer.slice(1).split("/")) {
    const key = token.replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Record<string, unknown>)[key];
  }
  return value;
}

function collectAnchors(root: SchemaObject): Map<string, SchemaObject> {
  const anchors = new Map<string, SchemaObject>();
  const collect = (schema: unknown): void => {
    if (!isSchemaObject(schema)) return;
    for (const keyword of ["$anchor", "$dynamicAnchor"]) {
      const name = schema[keyword];
      if (typeof name === "string" && !anchors.has(name)) anchors.set(name, schema);
    }
    for (const inner of subschemasOf(schema, { definitions: true })) collect(inner.schema);
  };
  collect(root);
  return anchors;
}
