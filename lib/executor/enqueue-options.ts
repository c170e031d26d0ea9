import { SkillError } from "../errors.js";
import { suggestion } from "../nearest.js";
import type { EnqueueOptions } from "../types.js";
import { checkedId } from "./caller.js";

/** When work runs, complete and checked. */
export interface Schedule {
  /** ISO 8601, UTC; now for a time that has passed. */
  readonly runAt: string;
  readonly isLater: boolean;
  readonly priority: number;
  readonly jobKey: string | null;
}

const KEYS = { runAt: true, priority: true, jobKey: true } satisfies Record<keyof EnqueueOptions, true>;
const MAX_PRIORITY = 1_000;
const MAX_JOB_KEY_LENGTH = 255;
/** ISO 8601 as RFC 3339 writes it: a text without a zone would mean another time on another machine. */
const RFC_3339 = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d+)?)?([Zz]|[+-]\d\d:\d\d)$/;
/** Times are compared as text, which only years of four digits allow. */
const MAX_TIME_MS = Date.UTC(9999, 11, 31);

/** @throws INVALID_OPTION */
export function parseSchedule(options: EnqueueOptions, nowMs: number): Schedule {
  if (typeof options !== "object" || options === null)
    throw invalid("The options of enqueue() must be an object such as { runAt, priority, jobKey }.");
  for (const key of Object.keys(options)) {
    if (!Object.hasOwn(KEYS, key)) throw invalid(`enqueue() has no option "${key}"${suggestion(key, Object.keys(KEYS))}.`);
  }
  const { runAt, priority = 0, jobKey } = options;
  if (!Number.isInteger(priority) || Math.abs(priority) > MAX_PRIORITY)
    throw invalid(`The option priority must be a whole number from -${MAX_PRIORITY} to ${MAX_PRIORITY}.`);
  const runAtMs = runAt === undefined || runAt === null ? nowMs : toMs(runAt);
  return {
    runAt: new Date(Math.max(nowMs, runAtMs)).toISOString(),
    isLater: runAtMs > nowMs,
    priority: priority === 0 ? 0 : priority,
    jobKey: checkedId("jobKey", jobKey, MAX_JOB_KEY_LENGTH) ?? null,
  };
}

function toMs(runAt: unknown): number {
  const text = typeof runAt === "string" && RFC_3339.test(runAt) ? Date.parse(runAt) : Number.NaN;
  const ms = runAt instanceof Date ? runAt.getTime() : text;
  if (ms <= MAX_TIME_MS) return ms;
  throw invalid("The option runAt must be a Date, or a time with its zone such as 2026-01-31T08:00:00Z, before the year 9999.");
}

function invalid(message: string): SkillError {
  return new SkillError("INVALID_OPTION", message);
}
