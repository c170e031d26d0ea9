import { SkillError } from "../errors.js";

const AGO = /^(\d{1,6})(s|m|h|d)$/;
const UNIT_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const ISO = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})?)?$/;

/**
 * A time as ISO 8601 UTC: of a date, of a date with a time (UTC unless it has a zone), or of a span before now such as `90m` or `7d`.
 * @throws INVALID_OPTION
 */
export function parseTime(option: string, text: string, now = Date.now()): string {
  const [, count, unit] = AGO.exec(text) ?? [];
  if (count !== undefined && unit !== undefined) return isoOf(now - Number(count) * UNIT_MS[unit as keyof typeof UNIT_MS]);
  const iso = ISO.exec(text);
  const needsZone = iso !== null && text.includes("T") && iso[1] === undefined;
  const ms = iso === null ? Number.NaN : Date.parse(needsZone ? `${text}Z` : text);
  if (!Number.isNaN(ms)) return isoOf(ms);
  throw new SkillError("INVALID_OPTION", `${option} must be a time like 2026-01-31, 2026-01-31T12:00Z, 90m, 12h or 7d.`);
}

/** "11-30 06:43:13" in UTC: short enough for a table. */
export function shortTime(iso: string): string {
  return iso.slice(5, 19).replace("T", " ");
}

export function shortDuration(durationMs: number | null): string {
  if (durationMs === null) return "";
  if (durationMs < 1_000) return `${Math.round(durationMs)}ms`;
  return durationMs < 60_000 ? `${(durationMs / 1_000).toFixed(1)}s` : `${(durationMs / 60_000).toFixed(1)}m`;
}

function isoOf(ms: number): string {
  return new Date(Math.max(0, ms)).toISOString();
}
