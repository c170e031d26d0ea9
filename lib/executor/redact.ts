import type { SensitiveMarks } from "../types.js";

/** What stands in a stored row in place of a value that was redacted. */
export const REDACTED = "[redacted]";

export type StoredState = "whole" | "redacted" | "cut" | "none";

export interface Stored {
  readonly text: string;
  readonly state: StoredState;
}

const SECRET_KEY =
  /passw(?:or)?d|passphrase|secret|credential|authorization|cookie|bearer|(?:api|access|private|signing|encryption)[-_. ]?key|connection[-_. ]?string|(?:token|pwd|jwt)$/i;
/** Matches every text that holds a key that `SECRET_KEY` matches: most texts need no second look. */
const MAY_HOLD_SECRET_KEY =
  /passw|passphrase|secret|credential|authorization|cookie|bearer|(?:api|access|private|signing|encryption)[-_. ]?key|connection[-_. ]?string|token|pwd|jwt/i;

/**
 * Makes the text that a row stores: values under keys that look like secrets, at any depth, and values that the schema marks are
 * replaced; what is then over `maxBytes` bytes of UTF-8 is cut to `{ "$cut": true, "bytes": n, "head": "..." }`, itself at most
 * `maxBytes` long.
 */
export function toStored(text: string, marks: SensitiveMarks | undefined, maxBytes: number): Stored {
  let stored = text;
  let state: StoredState = "whole";
  if (marks !== undefined || MAY_HOLD_SECRET_KEY.test(text)) {
    const copy = redact(JSON.parse(text), marks);
    if (copy.changed) [stored, state] = [JSON.stringify(copy.value), "redacted"];
  }
  // Most texts are far below the limit: their length in UTF-16 units settles it without counting bytes.
  if (stored.length * 3 <= maxBytes) return { text: stored, state };
  const bytes = Buffer.byteLength(stored);
  return bytes <= maxBytes ? { text: stored, state } : { text: cut(stored, bytes, maxBytes), state: "cut" };
}

/** Whether a value under this key is taken for a secret. */
export function isSecretKey(key: string): boolean {
  return SECRET_KEY.test(key);
}

interface Redaction {
  readonly value: unknown;
  readonly changed: boolean;
}

function redact(value: unknown, marks: SensitiveMarks | undefined): Redaction {
  if (marks?.here) return { value: REDACTED, changed: true };
  if (typeof value !== "object" || value === null) return { value, changed: false };
  return Array.isArray(value) ? redactItems(value, marks) : redactProperties(value as Record<string, unknown>, marks);
}

function redactItems(items: readonly unknown[], marks: SensitiveMarks | undefined): Redaction {
  const copies = items.map((item) => redact(item, marks?.items));
  return { value: copies.map((copy) => copy.value), changed: copies.some((copy) => copy.changed) };
}

function redactProperties(record: Record<string, unknown>, marks: SensitiveMarks | undefined): Redaction {
  const copy: Record<string, unknown> = Object.create(null);
  let changed = false;
  for (const [key, value] of Object.entries(record)) {
    const own = marks?.properties?.get(key) ?? marks?.items;
    const part = holdsSecret(key, value) ? { value: REDACTED, changed: true } : redact(value, own);
    copy[key] = part.value;
    changed ||= part.changed;
  }
  return { value: copy, changed };
}

/** A flag is no secret, nor is a number of tokens (`maxToken: 100`); a numeric password is one. */
function holdsSecret(key: string, value: unknown): boolean {
  if (value === null || typeof value === "boolean") return false;
  if (typeof value === "number" && key.toLowerCase().endsWith("token")) return false;
  return isSecretKey(key);
}

function cut(text: string, bytes: number, maxBytes: number): string {
  let keep = Math.min(text.length, maxBytes);
  for (;;) {
    const cutText = JSON.stringify({ $cut: true, bytes, head: headOf(text, keep) });
    if (keep === 0 || Buffer.byteLength(cutText) <= maxBytes) return cutText;
    keep = Math.floor(keep / 2);
  }
}

/** The first `length` UTF-16 units, without half a character at the end. */
function headOf(text: string, length: number): string {
  const last = text.charCodeAt(length - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? length - 1 : length);
}
