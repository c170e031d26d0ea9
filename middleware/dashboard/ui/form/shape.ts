import type { Fault } from "../api/types.js";

/** Which kind of field a JSON Schema is best filled in with. What has none of its own is written as JSON. */
export type Shape =
  | { readonly kind: "text"; readonly isLong: boolean; readonly schema: SchemaNode }
  | { readonly kind: "number"; readonly isWhole: boolean; readonly schema: SchemaNode }
  | { readonly kind: "boolean"; readonly schema: SchemaNode }
  | { readonly kind: "choice"; readonly choices: readonly unknown[]; readonly schema: SchemaNode }
  | { readonly kind: "group"; readonly fields: readonly GroupField[]; readonly schema: SchemaNode }
  | { readonly kind: "list"; readonly item: Shape; readonly schema: SchemaNode }
  | { readonly kind: "json"; readonly schema: SchemaNode };

export interface GroupField {
  readonly name: string;
  readonly isRequired: boolean;
  readonly shape: Shape;
}

export type SchemaNode = Readonly<Record<string, unknown>>;

const MAX_DEPTH = 6;
const MAX_CHOICES = 100;
const LONG_TEXT = 120;

export function shapeOf(schema: unknown, root: SchemaNode = toNode(schema), depth = 0): Shape {
  const node = resolve(toNode(schema), root);
  const { enum: choices, properties, items } = node;
  if (depth > MAX_DEPTH || isComposed(node)) return { kind: "json", schema: node };
  if (Object.hasOwn(node, "const")) return { kind: "choice", choices: [node["const"]], schema: node };
  if (Array.isArray(choices) && choices.length <= MAX_CHOICES && choices.every(isScalar))
    return { kind: "choice", choices, schema: node };
  switch (node["type"]) {
    case "string":
      return { kind: "text", isLong: isLongText(node), schema: node };
    case "integer":
    case "number":
      return { kind: "number", isWhole: node["type"] === "integer", schema: node };
    case "boolean":
      return { kind: "boolean", schema: node };
    case "array":
      return isNode(items)
        ? { kind: "list", item: shapeOf(items, root, depth + 1), schema: node }
        : { kind: "json", schema: node };
    case "object":
    case undefined:
      return isNode(properties) ? groupOf(node, properties, root, depth) : { kind: "json", schema: node };
    default:
      return { kind: "json", schema: node };
  }
}

/** What a form starts with: defaults of the schema, and the only choice where there is one. */
export function initialValue(shape: Shape): unknown {
  if (Object.hasOwn(shape.schema, "default")) return shape.schema["default"];
  if (shape.kind === "choice" && shape.choices.length === 1) return shape.choices[0];
  if (shape.kind !== "group") return undefined;
  const entries = shape.fields.flatMap(({ name, isRequired, shape: inner }) => {
    const value = initialValue(inner);
    // An optional group would come alive by defaults alone, and then lack what it requires.
    return value === undefined || (inner.kind === "group" && !isRequired) ? [] : [[name, value] as const];
  });
  return Object.fromEntries(entries);
}

/** JSON pointers (RFC 6901) of the fields that can show a fault of their own. */
export function fieldPointers(shape: Shape, value: unknown, pointer = ""): readonly string[] {
  if (shape.kind === "group") {
    const inner = shape.fields.flatMap((field) =>
      fieldPointers(field.shape, isNode(value) ? value[field.name] : undefined, childPointer(pointer, field.name)),
    );
    return pointer === "" ? inner : [pointer, ...inner];
  }
  if (shape.kind !== "list" || !Array.isArray(value)) return [pointer];
  return [pointer, ...value.flatMap((item, index) => fieldPointers(shape.item, item, childPointer(pointer, String(index))))];
}

const MISSING = /^must have required property '(.*)'$/s;

/** A property that is missing is a fault of what should have it; in a form it is one of the property's own field. */
export function toFieldFault(fault: Fault): Fault {
  const name = MISSING.exec(fault.message)?.[1];
  return name === undefined ? fault : { pointer: childPointer(fault.pointer, name), message: "is required" };
}

export function childPointer(pointer: string, name: string): string {
  return `${pointer}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

function groupOf(node: SchemaNode, properties: SchemaNode, root: SchemaNode, depth: number): Shape {
  const required = Array.isArray(node["required"]) ? node["required"] : [];
  const fields = Object.entries(properties).map(([name, inner]) => ({
    name,
    isRequired: required.includes(name),
    shape: shapeOf(inner, root, depth + 1),
  }));
  return fields.length === 0 ? { kind: "json", schema: node } : { kind: "group", fields, schema: node };
}

/** Follows references within the schema, a few of them: more would be a circle. */
function resolve(node: SchemaNode, root: SchemaNode): SchemaNode {
  let found = node;
  for (let step = 0; step < 5 && typeof found["$ref"] === "string"; step++)
    found = { ...lookUp(found["$ref"], root), ...withoutRef(found) };
  return found;
}

function lookUp(reference: string, root: SchemaNode): SchemaNode {
  if (!reference.startsWith("#/")) return {};
  let at: unknown = root;
  for (const token of reference.slice(2).split("/"))
    at = isNode(at) ? at[token.replaceAll("~1", "/").replaceAll("~0", "~")] : undefined;
  return toNode(at);
}

function withoutRef({ $ref: _ref, ...rest }: SchemaNode): SchemaNode {
  return rest;
}

function isComposed(node: SchemaNode): boolean {
  return (
    ["anyOf", "oneOf", "allOf", "not", "if", "$ref"].some((keyword) => Object.hasOwn(node, keyword)) &&
    !isNode(node["properties"])
  );
}

function isLongText({ maxLength, format, contentMediaType }: SchemaNode): boolean {
  return format === undefined && (contentMediaType !== undefined || typeof maxLength !== "number" || maxLength > LONG_TEXT);
}

function isScalar(value: unknown): boolean {
  return value === null || typeof value !== "object";
}

function isNode(value: unknown): value is SchemaNode {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function toNode(value: unknown): SchemaNode {
  return isNode(value) ? value : {};
}
