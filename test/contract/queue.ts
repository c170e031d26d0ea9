import { beforeEach, expect, test } from "vitest";
import { requestCancel } from "../../lib/store/cancel-requests.js";
import { enqueueWork } from "../../lib/store/enqueue-work.js";
import { findExecution } from "../../lib/store/executions.js";
import { deleteInstance, insertInstance, interruptOrphans } from "../../lib/store/instances.js";
import { all, db } from "../../lib/store/query.js";
import {
  cancelWaitingWork,
  countWorkOf,
  deleteEndedWork,
  deleteWork,
  putBackWork,
  rescueWork,
  takeWork,
} from "../../lib/store/queued-work.js";
import type { QueuedWorkRow } from "../../lib/store/rows.js";
import { insertSkill, updateSkill } from "../../lib/store/skills.js";
import type { Store } from "../../lib/store/store.js";
import { executionRow, idAt, instanceRow, skillRow, workRow } from "./rows.js";

const now = "2026-02-01T00:00:00.000Z";
const at = (n: number) => idAt("2026-01-01T00:00:00Z", n);

export function queueContract(store: () => Store): void {
  const enqueue = (n: number, fields: Partial<QueuedWorkRow> = {}, key: string | null = null) =>
    enqueueWork(
      store(),
      executionRow({ id: at(n), status: "QUEUED", attempts: 0, idempotency_key: key, request_hash: key && "hash" }),
      workRow({ id: at(n), ...fields }),
    );
  const take = async (n: number, { instance = "instance-1", idempotent = false } = {}) => {
    const wanted = { id: at(n), idempotent };
    const { jobs } = store();
    if (jobs !== undefined) return jobs.takeWork(wanted, instance);
    return (await store().write(() => takeWork([wanted], instance)))[0];
  };
  const status = async (n: number) => (await store().read(findExecution(at(n))))?.status;
  const waiting = async () =>
    (await store().read(all(db.selectFrom("queued_work").select(["id", "state"]).orderBy("id")))).map(({ id, state }) => [
      id,
      state,
    ]);
  const jobs = () => store().jobs?.schema;

  beforeEach(async () => {
    await store().jobs?.prepare();
    await store().write(() => insertSkill(skillRow()));
    await store().write(() => insertInstance(instanceRow()));
  });

  test("work is enqueued with its execution, or neither: when the skill is gone, or the idempotency key is taken", async () => {
    expect(await enqueue(1, {}, "key")).toEqual({ end: "done" });
    expect(await enqueue(2, {}, "key")).toEqual({ end: "key-taken" });
    await store().write(() => updateSkill("skill-1", { deleted_at: now, revision: 2, updated_at: now }));
    expect(await enqueue(3)).toEqual({ end: "gone" });
    expect(await waiting()).toEqual([[at(1), "DUE"]]);
    expect([await status(1), await status(2), await status(3)]).toEqual(["QUEUED", undefined, undefined]);
    expect(await store().read(countWorkOf("skill-1"))).toBe(1);
  });

  test("work under a job key takes the place of what waits under it, of the same owner only", async () => {
    await enqueue(1, { job_key: "daily" });
    await enqueue(2, { job_key: "daily", api_key_id: "key-b" });
    expect(await enqueue(3, { job_key: "daily" })).toEqual({ end: "done", replacedId: at(1) });
    expect(await waiting()).toEqual([
      [at(2), "DUE"],
      [at(3), "DUE"],
    ]);
    expect(await store().read(findExecution(at(1)))).toMatchObject({ status: "CANCELLED", error_code: "SKILL_CANCELLED" });
  });

  test("work is taken once, whole, and makes its execution RUNNING", async () => {
    await enqueue(1, { job_key: "daily", input: '{"secret":"kept whole"}' });
    const work = await take(1, { idempotent: true });
    expect(work).toMatchObject({
      input: '{"secret":"kept whole"}',
      instance_id: "instance-1",
      takes: 1,
      idempotent: 1,
      job_key: null,
    });
    expect(await take(1, { instance: "instance-2" })).toBeUndefined();
    expect(await store().read(findExecution(at(1)))).toMatchObject({ status: "RUNNING", instance_id: "instance-1" });
  });

  test("work whose execution waits no more is not taken, and leaves the queue", async () => {
    await enqueue(1);
    await store().upsertExecutions([executionRow({ id: at(1), status: "SUCCESS", finished_at: now })]);
    expect(await take(1)).toBeUndefined();
    expect(await waiting()).toEqual([]);
  });

  test("only who has work puts it back, and then it was not taken", async () => {
    await enqueue(1);
    await take(1);
    expect(await store().write(() => putBackWork(at(1), "instance-2", now, jobs()))).toBe(false);
    expect(await store().write(() => putBackWork(at(1), "instance-1", now, jobs()))).toBe(true);
    expect([await waiting(), await status(1)]).toEqual([[[at(1), "LATER"]], "QUEUED"]);
    expect(await take(1)).toMatchObject({ takes: 1 });
  });

  test("work that waits is cancelled, and what runs is not", async () => {
    await enqueue(1);
    await enqueue(2);
    await take(2);
    expect(await store().write(() => cancelWaitingWork(at(1), now, jobs()))).toBe(true);
    expect(await store().write(() => cancelWaitingWork(at(2), now, jobs()))).toBe(false);
    expect(await store().read(findExecution(at(1)))).toMatchObject({ status: "CANCELLED", finished_at: now });
    expect([await waiting(), await status(2)]).toEqual([[[at(2), "TAKEN"]], "RUNNING"]);
  });

  test("work of an instance that is gone waits again when it may run twice, was not taken too often, and nobody wants it ended", async () => {
    for (const n of [1, 2, 3]) await enqueue(n);
    await take(1, { idempotent: true });
    await take(2);
    await take(3, { idempotent: true });
    await store().write(() => requestCancel(at(3), now));
    expect(await store().write(() => rescueWork(5))).toEqual([]);
    await store().write(() => deleteInstance("instance-1"));
    expect(await store().write(() => rescueWork(1))).toEqual([]);
    expect(await store().write(() => rescueWork(5))).toEqual([at(1)]);
    expect(await store().write(() => interruptOrphans(now))).toBe(2);
    expect([await status(1), await status(2), await status(3)]).toEqual(["QUEUED", "INTERRUPTED", "INTERRUPTED"]);
    expect(await store().write(() => deleteEndedWork())).toBe(2);
    expect(await waiting()).toEqual([[at(1), "DUE"]]);
  });

  test("ended work is deleted by who had it", async () => {
    await enqueue(1);
    await take(1);
    const remove = (instance: string) =>
      store().jobs?.deleteWork([at(1)], instance) ?? store().write(() => deleteWork([at(1)], instance));
    await remove("instance-2");
    expect(await waiting()).toHaveLength(1);
    await remove("instance-1");
    expect(await waiting()).toEqual([]);
  });
}
