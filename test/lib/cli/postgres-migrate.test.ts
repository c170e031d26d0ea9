import Database from "better-sqlite3";
import { describe, expect, test } from "vitest";
import { connectBeside, newPostgresDatabase } from "../../fixtures/database.js";
import { openTestKit, openWorkingKit, type TestKit, until } from "../../fixtures/kit.js";
import { type CommandLine, commandLine, makeDatabase, runHere, timeout } from "./command-line.js";

const schema = { type: "object", properties: { n: { type: "integer" } } } as const;
const SKILLS = 1_000;
const EXECUTIONS = 10_000;
const tables = { skills: "id", settings: "key", skill_executions: "id" } as const;

describe("express-skills migrate --from", { timeout }, () => {
  test(`copies ${SKILLS} skills and ${EXECUTIONS} executions as they are, and a server goes on with them`, async () => {
    const { line, database, migrate } = copying();
    const { replayed } = await fillSource(line);
    const server = openTestKit({ database });
    await server.ready();
    const { code, stdout } = await migrate("--json");
    expect(code).toBe(0);
    const { copied } = JSON.parse(stdout);
    expect(copied).toEqual({ from: line.file, skills: SKILLS, settings: 1, executions: EXECUTIONS });
    const [here, there] = [readSqlite(line.file), await readPostgres(database)];
    expect(there.settings).toEqual(here.settings);
    expect(there.skills).toEqual(here.skills);
    // PostgreSQL holds no NUL.
    const stored = here.skill_executions.map((row) => ({
      ...row,
      error_message: row["error_message"]?.toString().replace("\0", "\u0001") ?? null,
    }));
    expect(there.skill_executions.length).toBe(EXECUTIONS);
    expect(there.skill_executions.filter((row, index) => JSON.stringify(row) !== JSON.stringify(stored[index]))).toEqual([]);
    // The server that was there before has been told.
    await until(async () => (await server.registry.list()).length === SKILLS - 1);
    await goesOn(server, replayed);
  });

  test("marks what was running when the last server ended, once a server starts", async () => {
    const { line, database, migrate } = copying();
    await makeDatabase(line);
    const source = new Database(line.file);
    const columns =
      "id, skill_name, skill_version, api_key_id, root_id, instance_id, status, input_state, output_state, attempts, created_at";
    const id = "019aaaaa-0000-7000-8000-000000000000";
    source.exec(
      `insert into skill_executions (${columns}) values ('${id}', 'work', '1.0.0', 'k', '${id}', 'gone', 'RUNNING', 'none', 'none', 1, '')`,
    );
    source.close();
    expect((await migrate()).stdout).toContain("0 versions of skills, 0 settings and 1 executions are copied from");
    const kit = openTestKit({ database });
    await kit.ready();
    expect(await kit.executor.getExecution(id)).toMatchObject({ status: "INTERRUPTED" });
  });

  test("takes the work that waits along, and the next server does it", async () => {
    const { line, database, migrate } = copying();
    const work = { name: "work", schema, handler: ({ n }: { n?: number }) => ({ n: (n ?? 0) + 1 }) } as const;
    const before = openTestKit({ database: line.file, worker: false });
    before.define(work);
    const { id } = await before.executor.enqueue("work", { n: 1 });
    await before.close();
    expect((await migrate()).code).toBe(0);
    const after = openWorkingKit({ database });
    after.define(work);
    await after.ready();
    await until(async () => (await after.executor.getExecution(id))?.status === "SUCCESS");
    expect(await after.executor.getExecution(id)).toMatchObject({ output: { n: 2 } });
  });

  test("copies nothing into a database that is not empty", async () => {
    const { line, database, migrate } = copying();
    await makeDatabase(line);
    const target = openTestKit({ database });
    target.define({ name: "own", schema, handler: () => ({}) });
    await target.ready();
    const source = openTestKit({ database: line.file });
    source.define({ name: "other", schema, handler: () => ({}) });
    await source.ready();
    await source.close();
    expect(await migrate()).toMatchObject({ code: 3, stdout: "", stderr: expect.stringContaining("has skills already") });
    expect((await target.registry.list()).map(({ name }) => name)).toEqual(["own"]);
  });

  test("copies nothing while a server is at work on the file, and no server starts on it meanwhile", async () => {
    const { line, migrate, start, database } = copying();
    const kit = openTestKit({ database: line.file });
    kit.define({ name: "work", schema, handler: () => ({}) });
    await kit.ready();
    const inUse = await migrate();
    expect(inUse).toMatchObject({ code: 3, stdout: "", stderr: expect.stringContaining(`in use by the process ${process.pid}`) });
    await kit.close();
    await migrateOnly(database);
    const lock = await holdCatalogue(database);
    const running = start();
    await lock.isWaitedFor();
    const late = openTestKit({ database: line.file });
    await expect(late.ready()).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    await lock.release();
    expect((await running.ended).code).toBe(0);
  });

  test.each([
    ["SIGINT", 130],
    ["SIGKILL", null],
  ] as const)("that %s ends has copied nothing, and can be done again", async (signal, code) => {
    const { line, database, migrate, start } = copying();
    const kit = openTestKit({ database: line.file });
    kit.define({ name: "work", schema, handler: () => ({}) });
    await kit.ready();
    await kit.close();
    await migrateOnly(database);
    const lock = await holdCatalogue(database);
    const running = start();
    await lock.isWaitedFor();
    running.child.kill(signal);
    if (signal === "SIGKILL") await running.ended;
    await lock.release();
    expect((await running.ended).code).toBe(code);
    expect((await readPostgres(database)).skills).toEqual([]);
    expect((await migrate()).code).toBe(0);
    expect((await readPostgres(database)).skills).toHaveLength(1);
  });

  test("copies nothing when one row does not fit, and says where it is", async () => {
    const { line, database, migrate } = copying();
    const kit = openTestKit({ database: line.file });
    kit.define({ name: "work", schema, handler: () => ({}) });
    const { id } = await kit.executor.execute("work", {});
    await kit.close();
    const source = new Database(line.file);
    source.exec("update skill_executions set attempts = 'many'");
    source.close();
    const refused = await migrate();
    expect(refused).toMatchObject({ code: 3, stdout: "", stderr: expect.stringContaining(`skill_executions from ${id}`) });
    expect((await readPostgres(database)).skills).toEqual([]);
  });

  test.each([
    ["a URL", ["--from", "postgres://root:hunter2@127.0.0.1/app"], 2, "must be the path of an SQLite file"],
    ["a file that is not there", ["--from", "other.db"], 3, "There is no database"],
    ["a file into a file", ["--from", "other.db", "--database", "other.db"], 2, "copies into a PostgreSQL database"],
  ])("refuses %s", async (_, words, code, message) => {
    const { database } = copying();
    const ended = await runHere(["migrate", ...words], { SKILLS_DATABASE: database });
    expect(ended).toMatchObject({ code, stdout: "", stderr: expect.stringContaining(message) });
    expect(ended.stderr).not.toContain("hunter2");
  });
});

function copying() {
  const line = commandLine();
  const database = newPostgresDatabase();
  const start = (...words: string[]) => line.start(["migrate", "--from", line.file, ...words], { SKILLS_DATABASE: database });
  return {
    line,
    database,
    start,
    migrate: (...words: string[]) => runHere(["migrate", "--from", line.file, ...words], { SKILLS_DATABASE: database }),
  };
}

async function migrateOnly(database: string): Promise<void> {
  expect((await runHere(["migrate"], { SKILLS_DATABASE: database })).code).toBe(0);
}

/** A file with skills of several owners in every state, and executions of every kind. */
async function fillSource(line: CommandLine): Promise<{ replayed: string }> {
  const kit = openTestKit({ database: line.file });
  kit.executor.registerHandler("work", (input) => input);
  for (let n = 0; n < SKILLS - 2; n++) {
    const [apiKeyId, version] = [n % 3 === 0 ? "k1" : "system", `1.${n % 10}.0`];
    await kit.registry.register({ name: `skill-${Math.floor(n / 10)}`, version, apiKeyId, schema, handler: "work", tags: ["t"] });
  }
  await kit.registry.setEnabled("skill-0", "1.1.0", false);
  await kit.registry.setMode("skill-0", "1.2.0", "off");
  await kit.registry.register({ name: "gone", schema, handler: "work" });
  await kit.registry.unregister("gone");
  kit.define({
    name: "fails",
    schema,
    handler: () => {
      throw new Error("é\u0000ü");
    },
  });
  const { id: replayed } = await kit.executor.execute("skill-1", { n: 1 }, { idempotencyKey: "once", sessionId: "s" });
  await kit.executor.execute("fails", { password: "hunter2" });
  await kit.executor.execute("skill-1", { n: 2 }, { requestId: "é" });
  await kit.executor.execute("skill-1", { text: "x".repeat(100_000) });
  for (let done = 4; done < EXECUTIONS; done += 83) {
    const size = Math.min(83, EXECUTIONS - done);
    await Promise.all(Array.from({ length: size }, (_, n) => kit.executor.execute(`skill-${n}`, { n }, { apiKeyId: "k1" })));
  }
  await kit.registry.setSkillsEnabled(false);
  await kit.close();
  return { replayed };
}

/** What the skills and executions of the source mean, they mean here. */
async function goesOn({ executor, registry }: TestKit, replayed: string): Promise<void> {
  executor.registerHandler("work", (input) => input);
  await expect(executor.run("skill-1", {})).rejects.toMatchObject({ code: "SKILLS_DISABLED" });
  await registry.setSkillsEnabled(true);
  expect(await executor.run("skill-1@^1", { n: 7 })).toEqual({ n: 7 });
  const again = await executor.execute("skill-1", { n: 1 }, { idempotencyKey: "once" });
  expect([again.id, again.output]).toEqual([replayed, { n: 1 }]);
  await expect(executor.run("skill-0@1.1.0", {})).rejects.toMatchObject({ code: "SKILL_DISABLED" });
  await expect(executor.run("skill-0@1.2.0", {})).rejects.toMatchObject({ code: "SKILL_OFF" });
  await expect(registry.register({ name: "gone", schema: {}, handler: "work" })).rejects.toMatchObject({
    code: "SKILL_CONFLICT",
  });
  expect((await executor.listExecutions({ sessionId: "s" })).map(({ id }) => id)).toEqual([replayed]);
}

type Rows = { readonly [Table in keyof typeof tables]: Record<string, unknown>[] };

/** Without the revisions, which each database counts for itself. */
function readSqlite(file: string): Rows {
  const source = new Database(file);
  const read = (table: keyof Rows) =>
    (source.prepare(`select * from ${table} order by ${tables[table]}`).all() as Record<string, unknown>[]).map(withoutRevision);
  const rows = { skills: read("skills"), settings: read("settings"), skill_executions: read("skill_executions") };
  source.close();
  return rows;
}

async function readPostgres(database: string): Promise<Rows> {
  const client = await connectBeside(database);
  const read = async (table: keyof Rows) =>
    (await client.query(`select * from ${table} order by ${tables[table]}`)).rows.map(withoutRevision);
  return { skills: await read("skills"), settings: await read("settings"), skill_executions: await read("skill_executions") };
}

function withoutRevision({ revision: _, ...row }: Record<string, unknown>): Record<string, unknown> {
  return row;
}

/** Keeps everybody from changing the catalogue. */
async function holdCatalogue(database: string): Promise<{ isWaitedFor(): Promise<void>; release(): Promise<unknown> }> {
  const client = await connectBeside(database);
  await client.query("begin");
  await client.query("select revision from catalogue for update");
  const other = await connectBeside(database);
  const blocked = "select 1 from pg_stat_activity where wait_event_type = 'Lock' and $1 = any (pg_blocking_pids(pid))";
  const { rows } = await client.query("select pg_backend_pid() as pid");
  return {
    isWaitedFor: () => until(async () => (await other.query(blocked, [rows[0].pid])).rowCount !== 0, 60_000),
    release: () => client.query("rollback"),
  };
}
