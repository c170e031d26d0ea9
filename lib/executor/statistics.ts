import { setImmediate as turn } from "node:timers/promises";
import { SkillError } from "../errors.js";
import type { ExecutionFilter } from "../store/executions.js";
import {
  countByBucket,
  countBySkill,
  type Percentiles,
  percentilesByBucket,
  percentilesBySkill,
  type StatsScope,
  type StatusCountRow,
} from "../store/stats.js";
import type { Store } from "../store/store.js";
import type { ExecutionStatus } from "../types.js";

/** Which executions are counted, and how finely. */
export interface StatsFilter {
  /** ISO 8601. Default: 24 hours before `to`. */
  readonly from?: string | undefined;
  /** ISO 8601, exclusive. Default: now. */
  readonly to?: string | undefined;
  /** Default: `minute` up to 2 hours, `hour` up to 3 days, then `day`. */
  readonly bucket?: StatsBucket | undefined;
  readonly skillName?: string | undefined;
  readonly apiKeyId?: string | undefined;
}

export type StatsBucket = "minute" | "hour" | "day";

export type StatusCounts = { readonly [Status in ExecutionStatus]?: number };

/** Nearest-rank percentiles of the durations of calls that ran, of the newest 20,000, in milliseconds; `null` without any. */
export interface DurationPercentiles {
  readonly p50Ms: number | null;
  readonly p95Ms: number | null;
  readonly p99Ms: number | null;
}

export interface ExecutionStats {
  readonly from: string;
  readonly to: string;
  readonly bucket: StatsBucket;
  /** Executions that were counted. */
  readonly count: number;
  /** Whether there may be more in this time: at most 100,000 are counted, the newest. */
  readonly isCut: boolean;
  readonly byStatus: StatusCounts;
  /** Executions a minute, over the time that was counted. */
  readonly perMinute: number;
  /** Every bucket of the time, oldest first, empty ones too; `at` is its start, ISO 8601, UTC. */
  readonly buckets: readonly ({ readonly at: string; readonly counts: StatusCounts } & DurationPercentiles)[];
  /** At most 100, the most often used first. `failed` are `ERROR`, `TIMEOUT` and `INTERRUPTED`. */
  readonly skills: readonly ({
    readonly name: string;
    readonly version: string;
    readonly count: number;
    readonly failed: number;
  } & DurationPercentiles)[];
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const BUCKETS = {
  minute: { ms: MINUTE_MS, chars: 16 },
  hour: { ms: HOUR_MS, chars: 13 },
  day: { ms: DAY_MS, chars: 10 },
} as const satisfies Record<StatsBucket, { ms: number; chars: number }>;
const MAX_BUCKETS = 2_000;
const MAX_SKILLS = 100;
/** SQLite answers at once and the server waits for it, so there must be an end. */
const MAX_COUNTED = 100_000;
const MAX_RANKED = 20_000;

/**
 * Counts executions by status, time and skill, in SQL.
 * @throws INVALID_OPTION with status 400: a time that is none, or a time of more than 2,000 buckets
 */
export async function readStats(store: Store, filter: StatsFilter, nowMs = Date.now()): Promise<ExecutionStats> {
  const { fromMs, toMs, bucket } = parseRange(filter, nowMs);
  const range = { createdAfter: new Date(fromMs).toISOString(), createdBefore: new Date(toMs).toISOString() };
  const conditions: ExecutionFilter = { ...range, skillName: filter.skillName, apiKeyId: filter.apiKeyId };
  const scope: StatsScope = { filter: conditions, limit: MAX_COUNTED, bucketChars: BUCKETS[bucket].chars };
  const newest = { ...scope, limit: MAX_RANKED };
  // Each query may take the time of many calls, which get their turn in between.
  const counts = await store.read(countByBucket(scope));
  await turn();
  const skills = await store.read(countBySkill(scope, MAX_SKILLS));
  await turn();
  const ofSkills = new Map((await store.read(percentilesBySkill(newest))).map((row) => [keyOf(row), row]));
  await turn();
  const ofBuckets = new Map((await store.read(percentilesByBucket(newest))).map((row) => [row.bucket, row]));
  const byBucket = new Map<string, StatusCountRow[]>();
  for (const row of counts) byBucket.set(row.bucket, [...(byBucket.get(row.bucket) ?? []), row]);
  const count = counts.reduce((sum, row) => sum + row.count, 0);
  return {
    from: range.createdAfter,
    to: range.createdBefore,
    bucket,
    count,
    isCut: count === MAX_COUNTED,
    byStatus: sumByStatus(counts),
    perMinute: count === 0 ? 0 : Math.round((count / ((toMs - fromMs) / MINUTE_MS)) * 1_000) / 1_000,
    buckets: startsOf(fromMs, toMs, bucket).map((at) => ({
      at,
      counts: sumByStatus(byBucket.get(at.slice(0, scope.bucketChars)) ?? []),
      ...toMilliseconds(ofBuckets.get(at.slice(0, scope.bucketChars))),
    })),
    skills: skills.map((row) => ({
      name: row.skill_name,
      version: row.skill_version,
      count: row.count,
      failed: row.failed,
      ...toMilliseconds(ofSkills.get(keyOf(row))),
    })),
  };
}

function parseRange(filter: StatsFilter, nowMs: number): { fromMs: number; toMs: number; bucket: StatsBucket } {
  const toMs = filter.to === undefined ? nowMs : timeOf("to", filter.to);
  const fromMs = filter.from === undefined ? Math.max(0, toMs - DAY_MS) : timeOf("from", filter.from);
  if (fromMs >= toMs) throw invalid("from must be before to");
  const length = toMs - fromMs;
  const bucket = filter.bucket ?? (length <= 2 * HOUR_MS ? "minute" : length <= 3 * DAY_MS ? "hour" : "day");
  if (!Object.hasOwn(BUCKETS, bucket)) throw invalid("bucket must be one of minute, hour, day");
  if (length / BUCKETS[bucket].ms > MAX_BUCKETS)
    throw invalid(`from and to are more than ${MAX_BUCKETS} times a ${bucket} apart; ask for a larger bucket or less time`);
  return { fromMs, toMs, bucket };
}

function timeOf(name: string, text: string): number {
  const ms = Date.parse(text);
  // Later years have more digits, which would not compare as text.
  if (Number.isNaN(ms) || ms < 0 || ms > Date.parse("9999-12-31T23:59:59Z"))
    throw invalid(`${name} must be a time in ISO 8601 from 1970 to 9999, such as 2026-01-31T00:00:00Z`);
  return ms;
}

function startsOf(fromMs: number, toMs: number, bucket: StatsBucket): string[] {
  const { ms } = BUCKETS[bucket];
  const starts: string[] = [];
  for (let at = Math.floor(fromMs / ms) * ms; at < toMs; at += ms) starts.push(new Date(at).toISOString());
  return starts;
}

function sumByStatus(rows: readonly { readonly status: string; readonly count: number }[]): StatusCounts {
  const sums: Record<string, number> = {};
  for (const { status, count } of rows) sums[status] = (sums[status] ?? 0) + count;
  return sums;
}

function toMilliseconds(row: Percentiles | undefined): DurationPercentiles {
  return { p50Ms: row?.p50 ?? null, p95Ms: row?.p95 ?? null, p99Ms: row?.p99 ?? null };
}

function keyOf(row: { readonly skill_name: string; readonly skill_version: string }): string {
  return `${row.skill_name}@${row.skill_version}`;
}

function invalid(message: string): SkillError {
  return new SkillError("INVALID_OPTION", `${message}.`, { status: 400, expose: true });
}
