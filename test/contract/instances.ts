import { expect, test } from "vitest";
import { findExecution } from "../../lib/store/executions.js";
import {
  beatInstance,
  deleteInstance,
  insertInstance,
  interruptExecutionsOf,
  interruptOrphans,
  listInstances,
} from "../../lib/store/instances.js";
import type { Store } from "../../lib/store/store.js";
import { executionRow, idAt, instanceRow } from "./rows.js";

const now = "2026-02-01T00:00:00.000Z";
const at = (n: number) => idAt("2026-01-01T00:00:00Z", n);

export function instancesContract(store: () => Store): void {
  test("instances are listed by their last heartbeat, oldest first", async () => {
    await store().write(() => insertInstance(instanceRow({ id: "a" })));
    await store().write(() => insertInstance(instanceRow({ id: "b" })));
    expect(await store().write(() => beatInstance("a", now))).toBe(true);
    expect(await store().read(listInstances())).toEqual([instanceRow({ id: "b" }), instanceRow({ id: "a", heartbeat_at: now })]);
  });

  test("an instance whose row is gone learns it from its heartbeat", async () => {
    await store().write(() => insertInstance(instanceRow()));
    expect(await store().write(() => deleteInstance("instance-1"))).toBe(true);
    expect(await store().write(() => deleteInstance("instance-1"))).toBe(false);
    expect(await store().write(() => beatInstance("instance-1", now))).toBe(false);
  });

  test("what a dead instance was running is interrupted, and nothing else", async () => {
    await store().upsertExecutions([
      executionRow({ id: at(1), instance_id: "dead" }),
      executionRow({ id: at(2), instance_id: "dead", status: "SUCCESS" }),
      executionRow({ id: at(3), instance_id: "dead", status: "QUEUED" }),
      executionRow({ id: at(4), instance_id: "alive" }),
    ]);
    expect(await store().write(() => interruptExecutionsOf([], now))).toBe(0);
    expect(await store().write(() => interruptExecutionsOf(["dead", "gone"], now))).toBe(1);
    const rows = await Promise.all([1, 2, 3, 4].map(async (n) => store().read(findExecution(at(n)))));
    expect(rows.map((row) => row?.status)).toEqual(["INTERRUPTED", "SUCCESS", "QUEUED", "RUNNING"]);
    expect(rows[0]).toMatchObject({ error_code: "SKILL_INTERRUPTED", finished_at: now });
  });

  test("what runs under an instance without a row is interrupted; a late outcome replaces that", async () => {
    await store().write(() => insertInstance(instanceRow({ id: "alive" })));
    await store().upsertExecutions([
      executionRow({ id: at(1), instance_id: "gone" }),
      executionRow({ id: at(2), instance_id: "alive" }),
    ]);
    expect(await store().write(() => interruptOrphans(now))).toBe(1);
    expect(await store().read(findExecution(at(2)))).toMatchObject({ status: "RUNNING" });
    await store().upsertExecutions([executionRow({ id: at(1), instance_id: "gone", status: "SUCCESS", output: "1" })]);
    expect(await store().read(findExecution(at(1)))).toMatchObject({ status: "SUCCESS", output: "1", error_code: null });
  });
}
