import { createServer } from "node:net";
import { inspect } from "node:util";
import { expect, inject, onTestFinished, test } from "vitest";
import { countExecutions, findExecution, listExecutions } from "../../../lib/store/executions.js";
import { openStore } from "../../../lib/store/open.js";
import { openPostgres } from "../../../lib/store/postgres.js";
import { postgresFault } from "../../../lib/store/postgres-errors.js";
import { db, run } from "../../../lib/store/query.js";
import { findSkill, nextRevision, readRevision } from "../../../lib/store/skills.js";
import { executionRow, idAt } from "../../contract/rows.js";
import { applicationName, connectBeside, newDatabase, newPostgresDatabase } from "../../fixtures/database.js";
import { openTestKit, until } from "../../fixtures/kit.js";
import { lockDatabase } from "../../fixtures/lock.js";

const at = (database: string) => ({ database, durability: "process" }) as const;

const openNew = async (parameters: Record<string, string> = {}) => {
  const database = newPostgresDatabase(parameters);
  const store = await openStore(at(database));
  onTestFinished(() => store.close());
  return { database, store };
};

const failure = (opening: Promise<unknown>): Promise<Error> =>
  opening.then(
    () => Promise.reject(new Error("it was opened")),
    (error: Error) => error,
  );

test("without the package pg the error says how to install it", async () => {
  const opening = openPostgres(at("postgres://u:s3cret@127.0.0.1/x"), () =>
    Promise.reject(new Error("Cannot find package 'pg'")),
  );
  await expect(opening).rejects.toMatchObject({
    code: "STORE_DRIVER_UNAVAILABLE",
    message: expect.stringMatching(/Cannot find package 'pg'.*npm install pg@8/),
  });
});

test("a wrong password, a missing database and an unreachable server are told, and the password is nowhere in the error", async () => {
  const given = new URL(inject("postgresUrl"));
  const wrong = (change: (url: URL) => void) => {
    const url = new URL(given);
    url.password = "s3cret";
    change(url);
    return failure(openStore(at(url.href)));
  };
  const refused = await wrong(() => {});
  const missing = await failure(openStore(at(Object.assign(new URL(given), { pathname: "/nothing" }).href)));
  const port = await freePort();
  const unreachable = await wrong((url) => {
    url.port = String(port);
  });
  expect(refused).toMatchObject({ code: "STORE_INVALID", message: expect.stringMatching(/password authentication failed/) });
  expect(missing).toMatchObject({ code: "STORE_INVALID", message: expect.stringMatching(/"nothing" does not exist/) });
  expect(unreachable).toMatchObject({ code: "STORE_UNAVAILABLE", message: expect.stringMatching(/ECONNREFUSED/) });
  for (const error of [refused, missing, unreachable]) {
    const everything = inspect(error, { depth: 10, showHidden: true });
    expect(everything).not.toContain("s3cret");
    expect(everything).not.toContain(given.password);
    expect(everything).not.toContain(decodeURIComponent(given.password));
  }
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

test("a server that never answers is given up after connect_timeout", async () => {
  const silent = createServer().listen(0, "127.0.0.1");
  onTestFinished(() => void silent.close());
  await until(() => silent.listening);
  const { port } = silent.address() as { port: number };
  const error = await failure(openStore(at(`postgres://u@127.0.0.1:${port}/x?connect_timeout=1`)));
  expect(error).toMatchObject({ code: "STORE_UNAVAILABLE" });
});

test("TLS that the server does not offer is an operator's fault", async () => {
  const url = new URL(inject("postgresUrl"));
  url.searchParams.set("sslmode", "require");
  expect(await failure(openStore(at(url.href)))).toMatchObject({
    code: "STORE_INVALID",
    message: expect.stringMatching(/does not support SSL/),
  });
});

test("a database of a newer version is refused, an application's own table of the same name too, and left as it is", async () => {
  const { database } = await openNew();
  const client = await connectBeside(database);
  await client.query("insert into skills_migrations (name, timestamp) values ('9999_future', '2099-01-01T00:00:00.000Z')");
  expect(await failure(openStore(at(database)))).toMatchObject({
    code: "STORE_INVALID",
    message: expect.stringContaining("9999_future"),
  });
  const other = newPostgresDatabase();
  const theirs = await connectBeside(other);
  await theirs.query("create table skills (mine text)");
  expect(await failure(openStore(at(other)))).toMatchObject({
    code: "STORE_INVALID",
    message: expect.stringContaining("skills"),
  });
  const { rows } = await theirs.query("select tablename from pg_tables where schemaname = current_schema()");
  expect(rows).toEqual([{ tablename: "skills" }]);
});

test("a search path without a schema is refused by name", async () => {
  const database = newPostgresDatabase({ options: "-csearch_path=no_such_schema" });
  expect(await failure(openStore(at(database)))).toMatchObject({
    code: "STORE_INVALID",
    message: expect.stringContaining("search_path"),
  });
});

test("a filter or a name with a NUL finds nothing, and a row with one is stored without it", async () => {
  const { store } = await openNew();
  await store.upsertExecutions([executionRow({ session_id: "a" })]);
  expect(await store.read(listExecutions({ sessionId: "a\0", limit: 10 }))).toEqual([]);
  expect(await store.read(countExecutions({ sessionId: "\0" }))).toBe(0);
  expect(await store.read(findSkill("\0", "\0", "\0"))).toBeUndefined();
  const id = idAt("2026-01-02T00:00:00Z");
  expect(await store.upsertExecutions([executionRow({ id, error_message: "a\0b" })])).toEqual([]);
  expect((await store.read(findExecution(id)))?.error_message).not.toContain("\0");
});

test("of 500 rows, the three that the database refuses fail alone, wherever they are", async () => {
  const { store } = await openNew();
  const rows = Array.from({ length: 500 }, (_, n) => executionRow({ id: idAt("2026-01-01T00:00:00Z", n) }));
  // An index of PostgreSQL takes no value this long, unless it can be compressed.
  const long = Array.from({ length: 20_000 }, () => String.fromCharCode(0x4e00 + Math.random() * 20_000)).join("");
  const bad = [0, 250, 499].map((n) => rows[n] as (typeof rows)[number]);
  const batch = rows.map((row) => (bad.includes(row) ? { ...row, api_key_id: long } : row));
  const refused = await store.upsertExecutions([...batch.slice(0, 300), ...batch.slice(300)]);
  expect(refused.map(({ id }) => id)).toEqual(bad.map(({ id }) => id));
  expect(await store.read(countExecutions({}))).toBe(497);
});

test("a statement that takes longer than statement_timeout is a passing fault", async () => {
  const { database, store } = await openNew({ statement_timeout: "200" });
  const lock = await lockDatabase(database);
  await expect(Promise.resolve(store.upsertExecutions([executionRow()]))).rejects.toMatchObject({
    code: "STORE_UNAVAILABLE",
    retryAfterMs: expect.any(Number),
  });
  await expect(store.write(nextRevision)).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
  await lock.release();
  expect(await store.upsertExecutions([executionRow()])).toEqual([]);
  expect(await store.write(nextRevision)).toBe(1);
});

test("connections that an operator ends, in the middle of a statement or between two, end no process and are replaced", async () => {
  const { database, store } = await openNew();
  const client = await connectBeside(database);
  const name = applicationName(database);
  const terminate = () =>
    client.query("select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1", [name]);
  const lock = await lockDatabase(database);
  const stopped = expect(Promise.resolve(store.upsertExecutions([executionRow()]))).rejects.toMatchObject({
    code: "STORE_UNAVAILABLE",
  });
  await until(() => isWaiting(client, database));
  await terminate();
  await stopped;
  await lock.release();
  expect(await store.upsertExecutions([executionRow()])).toEqual([]);
  await terminate();
  expect(await store.write(nextRevision)).toBe(1);
  expect(await store.read(readRevision())).toBe(1);
});

/** Whether a statement of the store waits for a lock. */
async function isWaiting(client: Awaited<ReturnType<typeof connectBeside>>, database: string): Promise<boolean> {
  const text = "select 1 from pg_stat_activity where application_name = $1 and wait_event_type = 'Lock'";
  return (await client.query(text, [applicationName(database)])).rowCount === 1;
}

test.each([
  ["all connections are taken", "53300", "gone"],
  ["the disk is full", "53100", "gone"],
  ["an operator ends it", "57P01", "gone"],
  ["the server starts", "57P03", "busy"],
])("that %s (%s) can pass", (_, code, fault) => {
  expect(postgresFault(Object.assign(new Error("refused"), { code }))).toBe(fault);
});

test("a kit whose role has no connection left refuses calls, and recovers by itself", async () => {
  const database = newDatabase();
  const client = await connectBeside(database);
  const role = `few_${process.pid}`;
  const schema = applicationName(database);
  await client.query(`create role ${role} login password 'few' connection limit 2`);
  await client.query(`grant all on schema ${schema} to ${role}; grant all on all tables in schema ${schema} to ${role}`);
  const url = Object.assign(new URL(database), { username: role, password: "few" });
  const kit = openTestKit({ database: url.href });
  onTestFinished(async () => {
    await kit.close({ graceMs: 0 });
    const after = await connectBeside(database);
    await after.query(`drop owned by ${role}; drop role ${role}`);
  });
  kit.define({ name: "any", schema: { type: "object" }, handler: () => 1 });
  await kit.ready();
  const connections = "select 1 from pg_stat_activity where usename = $1";
  // One listens, and one is left for all others.
  await until(async () => (await client.query(connections, [role])).rowCount === 2);
  const reads = await Promise.allSettled(Array.from({ length: 4 }, () => kit.executor.countExecutions()));
  for (const read of reads) if (read.status === "rejected") expect(read.reason).toMatchObject({ code: "STORE_UNAVAILABLE" });
  expect(new Set(reads.map(({ status }) => status))).toEqual(new Set(["fulfilled", "rejected"]));
  expect(await kit.executor.execute("any", {})).toMatchObject({ status: "SUCCESS" });
  await client.query(`alter role ${role} connection limit 0`);
  await client.query("select pg_terminate_backend(pid) from pg_stat_activity where usename = $1", [role]);
  const codes = new Set<string>();
  await until(async () => {
    await kit.executor.execute("any", {}).catch(({ code }) => codes.add(code));
    return kit.executor.auditStats()?.failing === true;
  });
  await expect(kit.executor.execute("any", {})).rejects.toMatchObject({ code: "AUDIT_UNAVAILABLE" });
  expect(await kit.registry.getSkill("any")).toMatchObject({ name: "any" });
  await client.query(`alter role ${role} connection limit 2`);
  await until(async () => (await kit.executor.execute("any", {}).catch(() => undefined))?.status === "SUCCESS");
  expect([...codes].filter((code) => code !== "AUDIT_UNAVAILABLE")).toEqual([]);
});

test("transactions that deadlock are tried again", async () => {
  const { database, store } = await openNew();
  const client = await connectBeside(database);
  await store.upsertExecutions([executionRow()]);
  const row = executionRow();
  await client.query("begin");
  await client.query("update catalogue set revision = revision");
  const write = store.write(function* () {
    yield* run(db.updateTable("skill_executions").set({ log: "y" }).where("id", "=", row.id));
    return yield* nextRevision();
  });
  await until(() => isWaiting(client, database));
  // The server ends one of the two.
  await client.query("update skill_executions set log = 'x'").catch(() => {});
  await client.query("rollback");
  expect(await write).toBe(1);
});

test("a store that is closed while a statement hangs cuts it", async () => {
  const { database, store } = await openNew();
  await lockDatabase(database);
  const cut = expect(Promise.resolve(store.upsertExecutions([executionRow()]))).rejects.toMatchObject({
    code: "STORE_UNAVAILABLE",
  });
  await store.close();
  await cut;
});
