import type { Fault } from "../errors.js";
import { messageOf } from "./outcome.js";

/** Deeper values are refused: walking them could exhaust the stack. */
const MAX_LEVELS = 1000;

export type JsonCheck =
  | { readonly ok: true; readonly value: unknown; readonly text: string }
  | { readonly ok: false; readonly fault: Fault };

/**
 * Checks that a value is JSON and renders it. Objects with `toJSON` (dates) and properties that are `undefined` are accepted: `value` is
 * then what the JSON says. Refused, with a JSON pointer: what JSON would lose or change without a word (functions, symbols,
 * bigints, numbers that are not finite, maps, sets, binary data, promises) and what cannot be rendered (cycles, over 1,000 levels).
 */
export function checkJson(value: unknown): JsonCheck {
  if (value === undefined) return { ok: true, value: null, text: "null" };
  const walk: Walk = { path: [], open: new Set(), plain: true };
  try {
    const problem = findProblem(value, walk);
    if (problem !== undefined) return refused(walk, problem);
    const text = JSON.stringify(value);
    if (text === undefined) return refused(walk, "is not JSON");
    return walk.plain ? { ok: true, value, text } : checkRendered(text);
  } catch (error) {
    return refused(walk, `cannot be rendered as JSON: ${messageOf(error)}`);
  }
}

/** What `toJSON` gave was not walked before it was rendered. */
function checkRendered(text: string): JsonCheck {
  const value: unknown = JSON.parse(text);
  const walk: Walk = { path: [], open: new Set(), plain: true };
  const problem = findProblem(value, walk);
  return problem === undefined ? { ok: true, value, text } : refused(walk, problem);
}

function refused({ path }: Walk, message: string): JsonCheck {
  return { ok: false, fault: { pointer: toPointer(path), message } };
}

interface Walk {
  readonly path: (string | number)[];
  readonly open: Set<object>;
  /** Whether the value is exactly what its JSON says. */
  plain: boolean;
}

function findProblem(value: unknown, walk: Walk): string | undefined {
  switch (typeof value) {
    case "string":
    case "boolean":
      return undefined;
    case "number":
      return Number.isFinite(value) ? undefined : `is ${value}, which JSON does not have`;
    case "object":
      return value === null ? undefined : findObjectProblem(value, walk);
    default:
      return `is a ${typeof value}, which JSON does not have`;
  }
}

function findObjectProblem(value: object, walk: Walk): string | undefined {
  if (typeof (value as { toJSON?: unknown }).toJSON === "function") {
    walk.plain = false;
    return undefined;
  }
  if (walk.open.has(value)) return "refers to an object that contains it";
  if (walk.open.size >= MAX_LEVELS) return `is nested deeper than ${MAX_LEVELS} levels`;
  walk.open.add(value);
  const problem = Array.isArray(value) ? findItemProblem(value, walk) : findPropertyProblem(value, walk);
  walk.open.delete(value);
  return problem;
}

function findItemProblem(items: readonly unknown[], walk: Walk): string | undefined {
  for (let index = 0; index < items.length; index++) {
    walk.path.push(index);
    const problem = findProblem(items[index], walk);
    if (problem !== undefined) return problem;
    walk.path.pop();
  }
  return undefined;
}

function findPropertyProblem(value: object, walk: Walk): string | undefined {
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) {
    const opaque = opaqueKind(value);
    if (opaque !== undefined) return `is a ${opaque}, which JSON does not have`;
    walk.plain = false;
  }
  for (const key of Object.keys(value)) {
    const property = (value as Record<string, unknown>)[key];
    if (property === undefined) {
      walk.plain = false;
      continue;
    }
    walk.path.push(key);
    const problem = findProblem(property, walk);
    if (problem !== undefined) return problem;
    walk.path.pop();
  }
  return undefined;
}

const OPAQUE = [Map, Set, WeakMap, WeakSet, Promise, RegExp, Error, ArrayBuffer] as const;

function opaqueKind(value: object): string | undefined {
  if (ArrayBuffer.isView(value)) return "binary buffer";
  return OPAQUE.find((kind) => value instanceof kind)?.name;
}

/** JSON pointer (RFC 6901) of a path. */
export function toPointer(path: readonly (string | number)[]): string {
  return path.map((part) => `/${String(part).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}
