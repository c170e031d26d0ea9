import type { Fault } from "../errors.js";

export const MAX_JSON_DEPTH = 128;
const MAX_FAULTS = 20;

/**
 * Copies a value that must be JSON, reading every property once, so that what is checked is what is stored. `undefined` properties are
 * left out. Whatever is not JSON (functions, dates, cycles, non-finite numbers, accessors that throw, the key `__proto__`) becomes a fault.
 */
export function copyJson(value: unknown, pointer: string, faults: Fault[], depth = 0): unknown {
  if (value === null || typeof value === "boolean" || typeof value === "string") return value;
  if (typeof value === "number") return Number.isFinite(value) ? value : fault(faults, pointer, "must be a finite number");
  if (typeof value !== "object") return fault(faults, pointer, `must be JSON, not a ${typeof value}`);
  if (depth >= MAX_JSON_DEPTH)
    return fault(faults, pointer, `is nested more than ${MAX_JSON_DEPTH} levels deep, or refers to itself`);
  if (faults.length >= MAX_FAULTS) return null;
  try {
    return Array.isArray(value) ? copyArray(value, pointer, faults, depth) : copyObject(value, pointer, faults, depth);
  } catch {
    return fault(faults, pointer, "cannot be read");
  }
}

/** A token of a JSON pointer (RFC 6901), escaped, and cut so that a hostile key cannot make a message large. */
export function pointerToken(key: string): string {
  const cut = key.length > 100 ? `${key.slice(0, 100)}...` : key;
  return `/${cut.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

/**
 * JSON text that is equal for equal values: keys sorted by UTF-16 code units, no spaces, numbers and strings as JSON.stringify writes
 * them (the form of RFC 8785).
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.keys(value)
    .filter((key) => (value as Record<string, unknown>)[key] !== undefined)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalJson((value as Record<string, unknown>)[key])}`);
  return `{${members.join(",")}}`;
}

function copyArray(value: readonly unknown[], pointer: string, faults: Fault[], depth: number): unknown[] {
  const copy: unknown[] = [];
  for (let index = 0; index < value.length && faults.length < MAX_FAULTS; index++) {
    copy.push(copyJson(value[index], `${pointer}/${index}`, faults, depth + 1));
  }
  return copy;
}

function copyObject(value: object, pointer: string, faults: Fault[], depth: number): unknown {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) return fault(faults, pointer, "must be a plain object");
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    if (faults.length >= MAX_FAULTS) break;
    if (key === "__proto__") {
      fault(faults, `${pointer}/__proto__`, "is a key that is not allowed");
      continue;
    }
    const member: unknown = (value as Record<string, unknown>)[key];
    if (member !== undefined) copy[key] = copyJson(member, pointer + pointerToken(key), faults, depth + 1);
  }
  return copy;
}

function fault(faults: Fault[], pointer: string, message: string): null {
  faults.push({ pointer, message });
  return null;
}
