import { invalidParameter } from "./problems.js";

/** Checks a time of the query, which may have the form of one and be none (a leap second). @throws INVALID_REQUEST */
export function parseTime(name: string, text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) throw invalidParameter(name, "is no time that can be read; write ISO 8601, like 2026-01-31T00:00:00Z");
  return new Date(ms).toISOString();
}
