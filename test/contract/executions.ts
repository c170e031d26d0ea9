import { expect, test } from "vitest";
import {
  countExecutions,
  type ExecutionFilter,
  findByIdempotencyKey,
  findExecution,
  insertExecution,
  listExecutions,
  pruneExecutions,
} from "../../lib/store/executions.js";
import type { ExecutionRow } from "../../lib/store/rows.js";
import type { Store } from "../../lib/store/store.js";
import { executionRow, idAt } from "./rows.js";

const day = (n: number) => `2026-01-${String(n).padStart(2, "0")}T00:00:00.000Z`;

export function executionsContract(store: () => Store): void {
  const insert = async (...rows: Partial<ExecutionRow>[]) => {
    expect(await store().upsertExecutions(rows.map((row) => executionRow(row)))).toEqual([]);
  };
  const days = async (filter: ExecutionFilter) => {
    const rows = await store().read(listExecutions({ ...filter, limit: 100 }));
    expect(await store().read(countExecutions(filter))).toBe(rows.length);
    return rows.map((row) => new Date(row.created_at).getUTCDate());
  };

  test("an execution is inserted once, by id and by its owner's idempotency key", async () => {
    const row = executionRow({ idempotency_key: "k", request_hash: "h" });
    expect(await store().write(() => insertExecution(row))).toBe(true);
    expect(await store().write(() => insertExecution(row))).toBe(false);
    expect(await store().write(() => insertExecution({ ...row, id: idAt(day(2)) }))).toBe(false);
    expect(await store().read(findByIdempotencyKey("key-a", "k"))).toEqual(row);
    expect(await store().read(findByIdempotencyKey("key-b", "k"))).toBeUndefined();
    expect(await store().read(findExecution(row.id))).toEqual(row);
    expect(await store().read(findExecution("nobody"))).toBeUndefined();
  });

  test("newest come first, a page at a time", async () => {
    await insert(...[3, 1, 5, 2, 4].map((n) => ({ created_at: day(n) })));
    const seen: string[] = [];
    for (let cursor: string | undefined; ; ) {
      const page = await store().read(listExecutions({ cursor, limit: 2 }));
      if (page.length === 0) break;
      seen.push(...page.map((row) => row.created_at));
      cursor = page.at(-1)?.id;
    }
    expect(seen).toEqual([5, 4, 3, 2, 1].map(day));
  });

  test("each filter keeps what it names, and several must hold together", async () => {
    await insert(
      { created_at: day(1), api_key_id: "key-b", status: "SUCCESS" },
      { created_at: day(2), skill_name: "translate", skill_version: "2.0.0", skill_id: "skill-2", status: "ERROR" },
      { created_at: day(3), session_id: "s", request_id: "r", status: "SUCCESS" },
      { created_at: day(4), api_key_id: "key-b", session_id: "s", status: "DENIED", skill_id: null },
    );
    expect(await days({})).toEqual([4, 3, 2, 1]);
    expect(await days({ apiKeyId: "key-b" })).toEqual([4, 1]);
    expect(await days({ skillName: "translate" })).toEqual([2]);
    expect(await days({ skillVersion: "2.0.0" })).toEqual([2]);
    expect(await days({ skillId: "skill-2" })).toEqual([2]);
    expect(await days({ sessionId: "s" })).toEqual([4, 3]);
    expect(await days({ requestId: "r" })).toEqual([3]);
    expect(await days({ status: "SUCCESS" })).toEqual([3, 1]);
    expect(await days({ status: ["ERROR", "DENIED"] })).toEqual([4, 2]);
    expect(await days({ status: [] })).toEqual([]);
    expect(await days({ apiKeyId: "key-b", sessionId: "s", status: "DENIED" })).toEqual([4]);
    expect(await days({ apiKeyId: "' or 1=1 --" })).toEqual([]);
  });

  test("a time range goes by the time in the id: from included, to excluded", async () => {
    await insert(...[1, 2, 3].map((n) => ({ created_at: day(n) })));
    expect(await days({ createdAfter: day(2) })).toEqual([3, 2]);
    expect(await days({ createdBefore: day(2) })).toEqual([1]);
    expect(await days({ createdAfter: day(2), createdBefore: day(3) })).toEqual([2]);
    expect(await days({ createdAfter: "1950-01-01T00:00:00Z" })).toEqual([3, 2, 1]);
    expect(() => store().read(countExecutions({ createdAfter: "yesterday" }))).toThrow(/yesterday/);
  });

  test("a tree is found by its root, with the root, and children by their parent", async () => {
    const root = idAt(day(1));
    const child = idAt(day(2));
    await insert(
      { created_at: day(1) },
      { created_at: day(2), root_id: root, parent_id: root },
      { created_at: day(3), root_id: root, parent_id: child },
      { created_at: day(4) },
    );
    expect(await days({ rootId: root })).toEqual([3, 2, 1]);
    expect(await days({ parentId: root })).toEqual([2]);
  });

  test("pruning deletes the oldest in small batches, and nothing that is not finished", async () => {
    await insert(
      { created_at: day(1), status: "SUCCESS" },
      { created_at: day(2), status: "RUNNING" },
      { created_at: day(3), status: "QUEUED" },
      { created_at: day(4), status: "INTERRUPTED" },
      { created_at: day(5), status: "DENIED" },
      { created_at: day(6), status: "SUCCESS" },
    );
    expect(await store().write(() => pruneExecutions(day(6), 2))).toBe(2);
    expect(await days({})).toEqual([6, 5, 3, 2]);
    expect(await store().write(() => pruneExecutions(day(6), 2))).toBe(1);
    expect(await store().write(() => pruneExecutions(day(6), 2))).toBe(0);
    expect(await days({})).toEqual([6, 3, 2]);
  });
}
