import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type ExecutionStats, readStats } from "../../../lib/executor/statistics.js";
import { openStore } from "../../../lib/store/open.js";
import type { Store } from "../../../lib/store/store.js";
import { executionRow, idAt } from "../../contract/rows.js";
import { newDatabase } from "../../fixtures/database.js";

let store: Store;
beforeEach(async () => {
  store = await openStore({ database: newDatabase(":memory:"), durability: "process" });
  const rows = [];
  // 100 calls of a skill in one hour, with durations of 1 to 100 ms, in no order; each tenth fails.
  for (let n = 1; n <= 100; n++) {
    const createdAt = `2026-01-01T10:${String(n % 60).padStart(2, "0")}:00.000Z`;
    rows.push(
      executionRow({
        id: idAt(createdAt, n),
        created_at: createdAt,
        status: n % 10 === 0 ? "ERROR" : "SUCCESS",
        duration_ms: ((n * 37) % 101) + 0.5,
      }),
    );
  }
  const later = "2026-01-01T12:30:00.000Z";
  const other = { skill_name: "other", api_key_id: "key-b", created_at: later };
  rows.push(executionRow({ ...other, id: idAt(later, 1), status: "DENIED", duration_ms: null }));
  rows.push(executionRow({ ...other, id: idAt(later, 2), status: "TIMEOUT", duration_ms: 2_000 }));
  await store.upsertExecutions(rows);
});
afterEach(() => store.close());

const day = { from: "2026-01-01T00:00:00Z", to: "2026-01-02T00:00:00Z" } as const;

describe("statistics of executions", () => {
  let stats: ExecutionStats;
  beforeEach(async () => {
    stats = await readStats(store, { ...day, bucket: "hour" });
  });

  test("count by status over the whole time", () => {
    expect(stats.byStatus).toEqual({ SUCCESS: 90, ERROR: 10, DENIED: 1, TIMEOUT: 1 });
    expect(stats).toMatchObject({ count: 102, isCut: false, perMinute: 0.071, bucket: "hour" });
  });

  test("have every bucket of the time, empty ones too", () => {
    expect(stats.buckets).toHaveLength(24);
    expect(stats.buckets[10]).toEqual({
      at: "2026-01-01T10:00:00.000Z",
      counts: { SUCCESS: 90, ERROR: 10 },
      p50Ms: 50.5,
      p95Ms: 95.5,
      p99Ms: 99.5,
    });
    expect(stats.buckets[11]).toEqual({ at: "2026-01-01T11:00:00.000Z", counts: {}, p50Ms: null, p95Ms: null, p99Ms: null });
    expect(stats.buckets[12]?.counts).toEqual({ DENIED: 1, TIMEOUT: 1 });
  });

  test("have nearest-rank percentiles of each version, of calls that ran", () => {
    expect(stats.skills).toEqual([
      { name: "summarize", version: "1.0.0", count: 100, failed: 10, p50Ms: 50.5, p95Ms: 95.5, p99Ms: 99.5 },
      { name: "other", version: "1.0.0", count: 2, failed: 1, p50Ms: 2_000, p95Ms: 2_000, p99Ms: 2_000 },
    ]);
  });

  test("can be those of a skill, of an owner and of a part of the time", async () => {
    expect((await readStats(store, { ...day, skillName: "other" })).count).toBe(2);
    expect((await readStats(store, { ...day, apiKeyId: "key-b" })).count).toBe(2);
    const minutes = await readStats(store, { from: "2026-01-01T10:10:00Z", to: "2026-01-01T10:12:00Z" });
    expect(minutes).toMatchObject({ bucket: "minute", count: 4, perMinute: 2 });
    expect(minutes.buckets.map(({ at }) => at)).toEqual(["2026-01-01T10:10:00.000Z", "2026-01-01T10:11:00.000Z"]);
  });

  test("are of the last 24 hours by the hour when nothing is said", async () => {
    const last = await readStats(store, {}, Date.parse("2026-01-01T12:45:00Z"));
    expect(last).toMatchObject({ from: "2025-12-31T12:45:00.000Z", bucket: "hour", count: 102 });
    expect(last.buckets).toHaveLength(25);
  });

  test.each([
    ["a time that is none", { from: "yesterday" }],
    ["a time before the epoch", { from: "1969-12-31T00:00:00Z" }],
    ["an end before the start", { from: "2026-01-02T00:00:00Z", to: "2026-01-01T00:00:00Z" }],
    ["more buckets than anybody can look at", { from: "2026-01-01T00:00:00Z", to: "2026-03-01T00:00:00Z", bucket: "minute" }],
    ["a bucket that there is not", { bucket: "toString" as "day" }],
  ] as const)("refuse %s", async (_, filter) => {
    await expect(readStats(store, filter)).rejects.toMatchObject({ code: "INVALID_OPTION", status: 400 });
  });
});
