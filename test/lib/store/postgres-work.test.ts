import { sql } from "kysely";
import { expect, onTestFinished, test } from "vitest";
import { enqueueWork } from "../../../lib/store/enqueue-work.js";
import { openPostgres } from "../../../lib/store/postgres.js";
import { all, db, run } from "../../../lib/store/query.js";
import type { QueuedWorkRow } from "../../../lib/store/rows.js";
import type { Operation } from "../../../lib/store/store.js";
import { executionRow, skillRow } from "../../contract/rows.js";
import { newPostgresDatabase } from "../../fixtures/database.js";

const skill = skillRow();

/** A database with one skill, and what is in it of work for later. */
async function openQueue() {
  const store = await openPostgres({ database: newPostgresDatabase(), durability: "process" });
  onTestFinished(() => store.close());
  const { jobs } = store;
  if (jobs === undefined) throw new Error("PostgreSQL has jobs");
  await jobs.prepare();
  await store.write(() => run(db.insertInto("skills").values(skill)));
  return {
    store,
    jobs,
    enqueue: (id: string, idempotencyKey: string | null = null) => jobs.insertWork(executionOf(id, idempotencyKey), workOf(id)),
    async rows() {
      const executions = await store.read(all(db.selectFrom("skill_executions").select(["id", "status", "instance_id"])));
      return { executions, work: await store.read(all(db.selectFrom("queued_work").selectAll())) };
    },
  };
}

function executionOf(id: string, idempotencyKey: string | null) {
  const key = idempotencyKey === null ? {} : { idempotency_key: idempotencyKey, request_hash: "h" };
  return executionRow({ id, root_id: id, status: "QUEUED", instance_id: "i1", finished_at: null, ...key });
}

function workOf(id: string): QueuedWorkRow {
  return {
    id,
    api_key_id: "k1",
    session_id: null,
    request_id: "r1",
    skill_id: skill.id,
    skill_owner: skill.api_key_id,
    skill_name: skill.name,
    skill_version: skill.version,
    handler: null,
    input: '{"text":"a\\u0000b"}',
    timeout_ms: 250,
    state: "DUE",
    run_at: "2026-01-01T00:00:00.000Z",
    priority: -3,
    job_key: null,
    instance_id: null,
    takes: 0,
    idempotent: 0,
    created_at: "2026-01-01T00:00:00.000Z",
  };
}

test("work is written with its execution and its job, and taken once", async () => {
  const { jobs, enqueue, rows } = await openQueue();
  expect(await enqueue("e1")).toBe("done");
  expect(await rows()).toEqual({ executions: [{ id: "e1", status: "QUEUED", instance_id: "i1" }], work: [workOf("e1")] });
  const taken = { ...workOf("e1"), state: "TAKEN", instance_id: "i2", takes: 1, idempotent: 1 };
  const takes = await Promise.all([1, 2, 3].map(() => jobs.takeWork({ id: "e1", idempotent: true }, "i2")));
  expect(takes.filter((work) => work !== undefined)).toEqual([taken]);
  expect(await rows()).toEqual({ executions: [{ id: "e1", status: "RUNNING", instance_id: "i2" }], work: [taken] });
});

test("work of a skill that was unregistered is not written", async () => {
  const { store, enqueue, rows } = await openQueue();
  await store.write(() => run(db.updateTable("skills").set({ deleted_at: skill.created_at })));
  expect(await enqueue("e1")).toBe("gone");
  expect(await rows()).toEqual({ executions: [], work: [] });
});

test("work under an idempotency key that is taken is not written, nor is its job", async () => {
  const { store, enqueue, rows } = await openQueue();
  expect(await enqueue("e1", "same")).toBe("done");
  expect(await enqueue("e2", "same")).toBe("key-taken");
  expect((await rows()).work).toEqual([workOf("e1")]);
  const jobs = db.selectFrom(sql<{ key: string }>`${sql.id(store.jobs?.schema ?? "", "jobs")}`.as("jobs")).select("key");
  expect(await store.read(all(jobs))).toEqual([{ key: "e1" }]);
});

test("work whose job cannot be added is not written, whichever way it is; once the jobs have their tables again it is", async () => {
  const { store, jobs, enqueue, rows } = await openQueue();
  const enqueueUnderKey = () => enqueueWork(store, executionOf("e2", null), { ...workOf("e2"), job_key: "nightly" });
  function* dropJobs(): Operation<void> {
    yield sql`drop schema ${sql.id(jobs.schema)} cascade`.compile(db);
  }
  for (const attempt of [() => enqueue("e1"), enqueueUnderKey]) {
    await store.write(dropJobs);
    await expect(attempt()).rejects.toMatchObject({ code: "STORE_INVALID" });
    expect(await rows()).toEqual({ executions: [], work: [] });
    await jobs.prepare();
  }
  expect(await enqueue("e1")).toBe("done");
  expect(await enqueueUnderKey()).toEqual({ end: "done" });
});

test("work whose execution has ended is not taken, and goes", async () => {
  const { store, jobs, enqueue, rows } = await openQueue();
  await enqueue("e1");
  await store.write(() => run(db.updateTable("skill_executions").set({ status: "CANCELLED" })));
  expect(await jobs.takeWork({ id: "e1", idempotent: true }, "i2")).toBeUndefined();
  expect(await rows()).toMatchObject({ executions: [{ status: "CANCELLED" }], work: [] });
});
