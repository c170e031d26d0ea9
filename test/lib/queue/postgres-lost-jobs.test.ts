import { expect, test } from "vitest";
import { connectBeside } from "../../fixtures/database.js";
import { openTestKit, openWorkingKit, until } from "../../fixtures/kit.js";

const timeout = 60_000;

/** A kit that enqueues one piece of work, and somebody else's connection to its database. */
async function enqueueOne() {
  const kit = openTestKit();
  const skill = { name: "work", schema: { type: "object" }, handler: () => "done" } as const;
  kit.define(skill);
  const { id } = await kit.executor.enqueue("work", {});
  const client = await connectBeside(kit.file);
  const { rows } = await client.query("select current_schema() as schema");
  return { kit, skill, id, client, jobs: `${rows[0].schema}_jobs` };
}

async function isDone({ kit, skill, id }: Awaited<ReturnType<typeof enqueueOne>>): Promise<void> {
  const worker = openWorkingKit({ database: kit.file });
  worker.define(skill);
  await worker.ready();
  await until(async () => (await worker.executor.getExecution(id))?.status === "SUCCESS", 45_000);
}

test("work whose job was locked by a connection that broke before its worker heard of it is done", { timeout }, async () => {
  const enqueued = await enqueueOne();
  const { client, jobs, id } = enqueued;
  // The worker lives on, and knows nothing of it.
  await client.query("insert into job_pools (id, instance_id) select 'pool-1', id from instances");
  const text = `update ${jobs}._private_jobs set locked_by = 'pool-1', locked_at = now(), attempts = 1 where key = $1`;
  expect((await client.query(text, [id])).rowCount).toBe(1);
  await isDone(enqueued);
});

test("work whose job was locked by a worker that died before it said who it was is done", { timeout }, async () => {
  const enqueued = await enqueueOne();
  const { client, jobs, id } = enqueued;
  const text = `update ${jobs}._private_jobs set locked_by = 'pool-2', locked_at = now() - interval '1 minute', attempts = 1 where key = $1`;
  expect((await client.query(text, [id])).rowCount).toBe(1);
  await isDone(enqueued);
});

test("work whose job is gone is done", { timeout }, async () => {
  const enqueued = await enqueueOne();
  const { client, jobs, id } = enqueued;
  expect((await client.query(`delete from ${jobs}._private_jobs where key = $1`, [id])).rowCount).toBe(1);
  await isDone(enqueued);
});

test("nothing is left of the jobs of a pool that is gone", { timeout }, async () => {
  const enqueued = await enqueueOne();
  const { client, jobs } = enqueued;
  await client.query("insert into job_pools (id, instance_id) values ('pool-3', 'nobody')");
  const lock = `update ${jobs}._private_jobs set locked_by = 'pool-3', locked_at = now(), key = null, attempts = max_attempts`;
  expect((await client.query(lock)).rowCount).toBe(1);
  await isDone(enqueued);
  await until(async () => (await client.query(`select 1 from ${jobs}._private_jobs`)).rowCount === 0);
  expect((await client.query("select id from job_pools where instance_id = 'nobody'")).rows).toEqual([]);
});
