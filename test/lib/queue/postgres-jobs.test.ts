import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import type { SkillsKit } from "../../../lib/index.js";
import { openPostgres } from "../../../lib/store/postgres.js";
import { jobSchemaOf } from "../../../lib/store/postgres-jobs.js";
import type { StoreJobs } from "../../../lib/store/store.js";
import { connectBeside, newDatabase } from "../../fixtures/database.js";
import { gate, openWorkingKit, type TestKit, until } from "../../fixtures/kit.js";
import { ended } from "./processes.js";

const timeout = 60_000;
const echo = { name: "echo", schema: { type: "object" }, handler: (input: unknown) => input } as const;

async function openEcho(): Promise<TestKit> {
  const kit = openWorkingKit();
  kit.define(echo);
  await kit.ready();
  return kit;
}

async function echoOnce(kit: SkillsKit): Promise<string | undefined> {
  const { id } = await kit.executor.enqueue("echo", {});
  return (await ended(kit, id))?.status;
}

async function beside(kit: TestKit) {
  const client = await connectBeside(kit.file);
  const { rows } = await client.query("select current_schema() as name");
  return { client, jobSchema: jobSchemaOf(rows[0].name) };
}

test("another installation of graphile-worker in the same database neither stops a worker nor sets the exit code", {
  timeout,
}, async () => {
  const kit = await openEcho();
  await echoOnce(kit);
  const exitCode = process.exitCode;
  onTestFinished(() => {
    process.exitCode = exitCode;
  });
  await echoOnce(await openEcho());
  await echoOnce(kit);
  expect(process.exitCode).toBe(exitCode);
  expect(kit.logged.filter(({ message }) => message.includes("migration"))).toEqual([]);
});

test("no two schemas share their jobs", () => {
  const long = "a".repeat(62);
  const schemas = ["public", "express_skills", "skills", `${long}b`, `${long}c`, `${"ä".repeat(31)}`, `${"ä".repeat(31)}b`];
  const names = schemas.map(jobSchemaOf);
  expect(new Set([...schemas, ...names]).size).toBe(2 * schemas.length);
  for (const name of names) expect(Buffer.byteLength(name)).toBeLessThanOrEqual(63);
});

test("work can be cancelled whose jobs have no tables", { timeout }, async () => {
  const kit = openWorkingKit({ worker: false });
  kit.define(echo);
  const { id } = await kit.executor.enqueue("echo", {});
  const { client, jobSchema } = await beside(kit);
  await client.query(`drop schema ${jobSchema} cascade`);
  await kit.executor.cancel(id);
  expect(await kit.executor.getExecution(id)).toMatchObject({ status: "CANCELLED" });
});

test("a schema of jobs that was dropped is made again, with a job for all that waits", { timeout }, async () => {
  const kit = await openEcho();
  await echoOnce(kit);
  const { id } = await kit.executor.enqueue("echo", {}, {}, { runAt: new Date(Date.now() + 2_000) });
  const { client, jobSchema } = await beside(kit);
  await client.query(`drop schema ${jobSchema} cascade`);
  expect(await ended(kit, id)).toMatchObject({ status: "SUCCESS" });
  expect(await echoOnce(kit)).toBe("SUCCESS");
});

test.each([
  ["is not there", false],
  ["was made for them", true],
])("ten that start together, whose schema of jobs %s, make its tables once", { timeout }, async (_, isMade) => {
  const database = newDatabase();
  const open = async () => {
    const store = await openPostgres({ database, durability: "process" });
    onTestFinished(() => store.close());
    return store.jobs as StoreJobs;
  };
  const all = await Promise.all(Array.from({ length: 10 }, open));
  const [schema = ""] = all.map((jobs) => jobs.schema);
  const client = await connectBeside(database);
  if (isMade) await client.query(`create schema ${schema}`);
  await Promise.all(all.map((jobs) => jobs.prepare()));
  const { rows } = await client.query(`select count(*)::int as count, count(distinct id)::int as ids from ${schema}.migrations`);
  expect(rows[0].count).toBeGreaterThan(0);
  expect(rows[0].count).toBe(rows[0].ids);
  await client.query(`select ${schema}.add_job('any')`);
});

test("a role that may not make schemas uses one that was made for it", { timeout }, async () => {
  const admin = await openEcho();
  const { client } = await beside(admin);
  const role = `app_${process.pid}`;
  await client.query(`create role ${role} login password 'app'`);
  await client.query(`create schema ${role} authorization ${role}`);
  onTestFinished(async () => {
    const after = await connectBeside(admin.file);
    await after.query(`drop owned by ${role} cascade`);
    await after.query(`drop role ${role}`);
  });
  const url = new URL(admin.file);
  url.username = role;
  url.password = "app";
  url.searchParams.set("options", `-csearch_path=${role}`);
  const kit = openWorkingKit({ database: url.href });
  kit.define(echo);
  await kit.ready();
  await expect(kit.executor.enqueue("echo", {})).rejects.toMatchObject({
    code: "STORE_INVALID",
    message: expect.stringContaining(`CREATE SCHEMA "${role}_jobs"`),
  });
  await client.query(`create schema ${role}_jobs authorization ${role}`);
  expect(await echoOnce(kit)).toBe("SUCCESS");
  expect(kit.logged.filter(({ message }) => message.startsWith("jobs cannot be taken")).length).toBeLessThanOrEqual(1);
  await kit.close({ graceMs: 0 });
});

test("an application that changed how pg reads JSON, for the whole process, has its work done", { timeout }, async () => {
  const parse = pg.types.getTypeParser(114);
  pg.types.setTypeParser(114, (text: string) => text as never);
  onTestFinished(() => pg.types.setTypeParser(114, parse as never));
  expect(await echoOnce(await openEcho())).toBe("SUCCESS");
});

test("a handler whose name PostgreSQL cannot store does not keep the others from their work", { timeout }, async () => {
  const kit = openWorkingKit();
  kit.executor.registerHandler("a\0b", () => 1);
  kit.define(echo);
  expect(await echoOnce(kit)).toBe("SUCCESS");
});

test("work that could not be put back when it was refused is so later", { timeout }, async () => {
  const { promise, open } = gate();
  const kit = openWorkingKit();
  kit.define({ name: "one", schema: { type: "object" }, concurrency: { limit: 1 }, handler: () => promise });
  await kit.ready();
  const { client } = await beside(kit);
  await client.query(`create function refuse() returns trigger language plpgsql as $$ begin raise exception 'not now'; end $$`);
  await client.query(`create trigger refuse before update on queued_work for each row
    when (old.state = 'TAKEN' and new.state = 'LATER') execute function refuse()`);
  const first = await kit.executor.enqueue("one", {});
  await until(() => kit.executor.isRunning(first.id));
  const second = await kit.executor.enqueue("one", {});
  await until(() => kit.logged.some(({ message }) => message.startsWith("queued work could not be put back")));
  open();
  await client.query("drop trigger refuse on queued_work");
  expect(await ended(kit, second.id)).toMatchObject({ status: "SUCCESS" });
});

test("containers' work waits once the engine that answered no longer does", { timeout }, async () => {
  const kit = openWorkingKit();
  const { sandbox } = kit;
  const described = await sandbox.describe().catch(() => ({}) as Awaited<ReturnType<typeof sandbox.describe>>);
  let isThere = true;
  // An engine that goes away in the middle cannot be asked for.
  sandbox.describe = () => (isThere ? Promise.resolve(described) : Promise.reject(new Error("no engine")));
  const container = { image: "localhost/none-such", command: ["cat"] };
  await kit.registry.register({ name: "box", schema: { type: "object" }, container });
  const first = await kit.executor.enqueue("box", {});
  expect(await ended(kit, first.id)).toMatchObject({ status: "ERROR" });
  isThere = false;
  // The last answer counts for ten seconds, and for the work that finds it old.
  await delay(10_500);
  await ended(kit, (await kit.executor.enqueue("box", {})).id);
  await delay(500);
  const { id } = await kit.executor.enqueue("box", {});
  await delay(2_000);
  expect(await kit.executor.getExecution(id)).toMatchObject({ status: "QUEUED" });
});
