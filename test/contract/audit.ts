import { expect, test } from "vitest";
import { countExecutions, findExecution } from "../../lib/store/executions.js";
import type { ExecutionRow } from "../../lib/store/rows.js";
import type { Store } from "../../lib/store/store.js";
import type { ExecutionStatus } from "../../lib/types.js";
import { executionRow, idAt } from "./rows.js";

const finals = ["SUCCESS", "ERROR", "TIMEOUT", "CANCELLED", "DENIED"] as const satisfies ExecutionStatus[];
const statuses = ["QUEUED", "RUNNING", ...finals, "INTERRUPTED"] as const satisfies ExecutionStatus[];

function mayFollow(stored: ExecutionStatus, next: ExecutionStatus): boolean {
  if (stored === "QUEUED" || stored === "RUNNING") return next !== "QUEUED";
  return stored === "INTERRUPTED" && (finals as readonly ExecutionStatus[]).includes(next);
}

export function auditContract(store: () => Store): void {
  const find = async (id: string) => store().read(findExecution(id));

  test("a batch is stored as it was given, every column of it", async () => {
    const full: ExecutionRow = {
      ...executionRow({ id: idAt("2026-01-01T00:00:00Z", 1), status: "ERROR", parent_id: "p", root_id: "r" }),
      session_id: "session",
      request_id: "request",
      output: "{}",
      output_state: "cut",
      error_code: "SKILL_FAILED",
      error_message: "snow \u{1F328} and 'quotes'",
      attempts: 3,
      duration_ms: 12,
      idempotency_key: "once",
      request_hash: "hash",
      finished_at: "2026-01-01T00:00:01.000Z",
    };
    const bare = executionRow({ id: idAt("2026-01-01T00:00:00Z", 2), status: "DENIED", skill_id: null, input: null });
    expect(await store().upsertExecutions([full, bare])).toEqual([]);
    expect(await find(full.id)).toEqual(full);
    expect(await find(bare.id)).toEqual(bare);
  });

  test("an empty batch is no work", async () => {
    expect(await store().upsertExecutions([])).toEqual([]);
  });

  test("a later state completes the row of a running call and keeps who called and when", async () => {
    const running = executionRow();
    await store().upsertExecutions([running]);
    const done = { status: "SUCCESS", output: '{"ok":true}', output_state: "whole", duration_ms: 5, attempts: 2 };
    await store().upsertExecutions([executionRow({ ...done, api_key_id: "someone-else" })]);
    expect(await find(running.id)).toEqual({ ...running, ...done });
  });

  test("a state replaces only those that it may follow", async () => {
    const pairs = statuses.flatMap((stored) => statuses.map((next) => ({ stored, next })));
    const rows = pairs.map(({ stored }, n) => executionRow({ id: idAt("2026-01-01T00:00:00Z", n), status: stored }));
    await store().upsertExecutions(rows);
    await store().upsertExecutions(pairs.map(({ next }, n) => ({ ...(rows[n] as ExecutionRow), status: next })));
    for (const [n, { stored, next }] of pairs.entries()) {
      const row = await find(rows[n]?.id ?? "");
      expect(row?.status, `${stored} then ${next}`).toBe(mayFollow(stored, next) ? next : stored);
    }
  });

  test("a row that violates a constraint fails alone", async () => {
    const rows = Array.from({ length: 5 }, (_, n) => executionRow({ id: idAt("2026-01-01T00:00:00Z", n) }));
    const bad = { ...rows[2], skill_name: null } as unknown as ExecutionRow;
    const refused = await store().upsertExecutions(rows.with(2, bad));
    expect(refused).toEqual([{ id: bad.id, error: expect.any(Error) }]);
    expect(await store().read(countExecutions({}))).toBe(4);
  });

  test("a row with a value that no column can hold fails alone", async () => {
    const odd = executionRow({ id: idAt("2026-01-01T00:00:00Z", 1), output: { not: "text" } as unknown as string });
    const refused = await store().upsertExecutions([odd, executionRow()]);
    expect(refused.map(({ id }) => id)).toEqual([odd.id]);
    expect(await store().read(countExecutions({}))).toBe(1);
  });

  test("a second row under an owner's idempotency key fails alone, another owner's does not", async () => {
    const at = (n: number) => idAt("2026-01-01T00:00:00Z", n);
    const refused = await store().upsertExecutions([
      executionRow({ id: at(1), idempotency_key: "k" }),
      executionRow({ id: at(2), idempotency_key: "k" }),
      executionRow({ id: at(3), idempotency_key: "k", api_key_id: "key-b" }),
    ]);
    expect(refused.map(({ id }) => id)).toEqual([at(2)]);
  });

  test("an output that is a string of JSON comes back as that string", async () => {
    const output = JSON.stringify('{"a":1}');
    await store().upsertExecutions([executionRow({ output, input: '"123"', error_message: "42" })]);
    const row = await find(executionRow().id);
    expect(row?.output).toBe(output);
    expect(row?.input).toBe('"123"');
    expect(row?.error_message).toBe("42");
  });

  test("500 rows go in one batch", async () => {
    const rows = Array.from({ length: 500 }, (_, n) => executionRow({ id: idAt("2026-01-01T00:00:00Z", n) }));
    expect(await store().upsertExecutions(rows)).toEqual([]);
    expect(await store().read(countExecutions({}))).toBe(500);
  });
}
