import type { Fault } from "../errors.js";
import { suggestion } from "../nearest.js";
import { pointerToken } from "./json.js";

/** Says what is wrong with a value that was given, or `undefined` when it is right. */
export type FieldCheck = (value: unknown, pointer: string, faults: Fault[]) => void;

/** Enough to mend a definition; a hostile one cannot make a message large. */
const MAX_FAULTS = 50;

export interface FieldTable {
  readonly [field: string]: { readonly check: FieldCheck; readonly required?: boolean };
}

/** Checks every field of an object, collects all faults, and names the nearest known key for each unknown one. */
export function checkFields(value: Record<string, unknown>, table: FieldTable, pointer: string, faults: Fault[]): void {
  const known = Object.keys(table);
  for (const key of Object.keys(value)) {
    if (Object.hasOwn(table, key)) continue;
    if (faults.length >= MAX_FAULTS) return;
    faults.push({ pointer: pointer + pointerToken(key), message: `is no known field${suggestion(key, known)}` });
  }
  for (const [field, { check, required }] of Object.entries(table)) {
    const given = Object.hasOwn(value, field) ? value[field] : undefined;
    if (given !== undefined) check(given, `${pointer}/${field}`, faults);
    else if (required) faults.push({ pointer: `${pointer}/${field}`, message: "is required" });
  }
}

export function text(minChars: number, maxChars: number): FieldCheck {
  return (value, pointer, faults) => {
    const wrong = textFault(value, minChars, maxChars);
    if (wrong !== undefined) faults.push({ pointer, message: wrong });
  };
}

export function identifier(maxChars: number): FieldCheck {
  return (value, pointer, faults) => {
    const wrong = textFault(value, 1, maxChars) ?? (hasControlCharacter(value as string) ? "has a control character" : undefined);
    if (wrong !== undefined) faults.push({ pointer, message: wrong });
  };
}

export function integer(min: number, max: number): FieldCheck {
  return (value, pointer, faults) => {
    if (typeof value === "number" && Number.isInteger(value) && value >= min && value <= max) return;
    faults.push({ pointer, message: `must be an integer from ${min} to ${max}` });
  };
}

export function numberBetween(min: number, max: number): FieldCheck {
  return (value, pointer, faults) => {
    if (typeof value === "number" && value >= min && value <= max) return;
    faults.push({ pointer, message: `must be a number from ${min} to ${max}` });
  };
}

export function yesOrNo(value: unknown, pointer: string, faults: Fault[]): void {
  if (typeof value !== "boolean") faults.push({ pointer, message: "must be true or false" });
}

export function oneOf(...allowed: readonly string[]): FieldCheck {
  return (value, pointer, faults) => {
    if (typeof value === "string" && allowed.includes(value)) return;
    faults.push({ pointer, message: `must be one of ${allowed.map((word) => `"${word}"`).join(", ")}` });
  };
}

export function object(table: FieldTable): FieldCheck {
  return (value, pointer, faults) => {
    if (isObject(value)) checkFields(value, table, pointer, faults);
    else faults.push({ pointer, message: "must be an object" });
  };
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** What is wrong with a value that should be text; U+0000 and halves of characters are refused because not every database stores them. */
export function textFault(value: unknown, minChars: number, maxChars: number): string | undefined {
  if (typeof value !== "string") return "must be a string";
  if (value.length < minChars) return minChars === 1 ? "must not be empty" : `must have at least ${minChars} characters`;
  if (value.length > maxChars) return `must have at most ${maxChars} characters`;
  return value.includes("\u0000") || !isWellFormed(value) ? "has a character that cannot be stored" : undefined;
}

function hasControlCharacter(value: string): boolean {
  for (let index = 0; index < value.length; index++) {
    const unit = value.charCodeAt(index);
    if (unit < 0x20 || (unit >= 0x7f && unit <= 0x9f)) return true;
  }
  return false;
}

function isWellFormed(value: string): boolean {
  return Buffer.from(value, "utf8").toString("utf8") === value;
}
