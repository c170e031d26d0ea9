import type { ExpressionBuilder } from "kysely";
import { conditions, type ExecutionFilter } from "./executions.js";
import { all, db } from "./query.js";
import type { Operation } from "./store.js";

/** What the statistics are about: the newest `limit` executions that the filter means. */
export interface StatsScope {
  readonly filter: ExecutionFilter;
  readonly limit: number;
  /** How much of the ISO time is the bucket: 10 characters are a day, 13 an hour, 16 a minute. */
  readonly bucketChars: number;
}

export interface StatusCountRow {
  readonly bucket: string;
  readonly status: string;
  readonly count: number;
}

export interface SkillCountRow {
  readonly skill_name: string;
  readonly skill_version: string;
  readonly count: number;
  readonly failed: number;
}

/** Nearest-rank percentiles of `duration_ms`; calls that never ran are not among them. */
export interface Percentiles {
  readonly p50: number | null;
  readonly p95: number | null;
  readonly p99: number | null;
}

/** How often each status was reached in each bucket. */
export function* countByBucket(scope: StatsScope): Operation<StatusCountRow[]> {
  const rows = yield* all(
    recent(scope)
      .selectFrom("recent")
      .select((eb) => ["bucket", "status", eb.fn.countAll().as("count")])
      .groupBy(["bucket", "status"]),
  );
  return rows.map((row) => ({ ...row, count: Number(row.count) }));
}

/** How often each version ran, and how often it failed (`ERROR`, `TIMEOUT`, `INTERRUPTED`); the most often used first. */
export function* countBySkill(scope: StatsScope, maxSkills: number): Operation<SkillCountRow[]> {
  const rows = yield* all(
    recent(scope)
      .selectFrom("recent")
      .select((eb) => [
        "skill_name",
        "skill_version",
        eb.fn.countAll().as("count"),
        eb.fn.sum(eb.case().when("status", "in", ["ERROR", "TIMEOUT", "INTERRUPTED"]).then(1).else(0).end()).as("failed"),
      ])
      .groupBy(["skill_name", "skill_version"])
      .orderBy("count", "desc")
      .orderBy("skill_name")
      .orderBy("skill_version")
      .limit(maxSkills),
  );
  return rows.map((row) => ({ ...row, count: Number(row.count), failed: Number(row.failed) }));
}

export function* percentilesBySkill(
  scope: StatsScope,
): Operation<({ readonly skill_name: string; readonly skill_version: string } & Percentiles)[]> {
  return yield* all(
    ranked(scope, ["skill_name", "skill_version"])
      .select((eb) => ["skill_name", "skill_version", at(eb, 50).as("p50"), at(eb, 95).as("p95"), at(eb, 99).as("p99")])
      .groupBy(["skill_name", "skill_version"]),
  );
}

export function* percentilesByBucket(scope: StatsScope): Operation<({ readonly bucket: string } & Percentiles)[]> {
  return yield* all(
    ranked(scope, ["bucket"])
      .select((eb) => ["bucket", at(eb, 50).as("p50"), at(eb, 95).as("p95"), at(eb, 99).as("p99")])
      .groupBy("bucket"),
  );
}

function recent({ filter, limit, bucketChars }: StatsScope) {
  return db.with("recent", (query) =>
    query
      .selectFrom("skill_executions")
      .select((eb) => [
        "skill_name",
        "skill_version",
        "status",
        "duration_ms",
        eb.fn<string>("substr", ["created_at", eb.lit(1), eb.lit(bucketChars)]).as("bucket"),
      ])
      .where((eb) => eb.and(conditions(eb, filter)))
      .orderBy("id", "desc")
      .limit(limit),
  );
}

interface Ranked {
  readonly skill_name: string;
  readonly skill_version: string;
  readonly bucket: string;
  readonly duration_ms: number | null;
  readonly rank: number;
  readonly size: number;
}

/** Every duration with its place in its group, from 1, and the group's size. */
function ranked(scope: StatsScope, group: readonly ("skill_name" | "skill_version" | "bucket")[]) {
  return recent(scope)
    .with("ranked", (query) =>
      query
        .selectFrom("recent")
        .where("duration_ms", "is not", null)
        .select((eb) => [
          "skill_name",
          "skill_version",
          "bucket",
          "duration_ms",
          eb.fn
            .agg<number>("row_number")
            .over((over) => over.partitionBy(group).orderBy("duration_ms"))
            .as("rank"),
          eb.fn
            .countAll<number>()
            .over((over) => over.partitionBy(group))
            .as("size"),
        ]),
    )
    .selectFrom("ranked");
}

/** The duration at the rank `ceil(size * percent / 100)`: whole numbers divide to whole numbers in every database. */
function at<DB extends { ranked: Ranked }>(eb: ExpressionBuilder<DB, "ranked">, percent: number) {
  const inner = eb as unknown as ExpressionBuilder<{ ranked: Ranked }, "ranked">;
  const place = inner(inner.parens(inner("size", "*", inner.lit(percent)), "+", inner.lit(99)), "/", inner.lit(100));
  return inner.fn.min<number | null>(inner.case().when("rank", "=", place).then(inner.ref("duration_ms")).end());
}
