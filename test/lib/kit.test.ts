import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { defaultSkills, skillExecutor, skillRegistry } from "../../lib/index.js";
import { connectBeside, databaseKind, newDatabase } from "../fixtures/database.js";
import { openTestKit } from "../fixtures/kit.js";

const anything = { type: "object" } as const;

test("what is defined while calls run is there for the next call, and disturbs none", async () => {
  const kit = openTestKit();
  const handles = Array.from({ length: 20 }, (_, n) => ({ name: `skill-${n}`, schema: anything, handler: () => n }));
  const answers: Promise<unknown>[] = [];
  for (const definition of handles) {
    const handle = kit.define(definition);
    answers.push(...Array.from({ length: 10 }, () => kit.executor.run(handle, {})));
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(await Promise.all(answers)).toEqual(handles.flatMap((_, n) => Array.from({ length: 10 }, () => n)));
});

test("the default kit is made anew by the first use after it was closed, on the same database", async () => {
  const before = process.env.SKILLS_DATABASE;
  process.env.SKILLS_DATABASE = newDatabase();
  onTestFinished(async () => {
    await defaultSkills().close();
    if (before === undefined) delete process.env.SKILLS_DATABASE;
    else process.env.SKILLS_DATABASE = before;
  });
  const first = defaultSkills();
  skillExecutor.registerHandler("one", () => 1);
  await skillRegistry.register({ name: "one", schema: anything, handler: "one" });
  expect(await skillExecutor.run("one", {})).toBe(1);
  await Promise.all([first.close(), first.close()]);
  expect(defaultSkills()).not.toBe(first);
  expect((await skillRegistry.list()).map((head) => head.name)).toEqual(["one"]);
  await expect(skillExecutor.run("one", {})).rejects.toMatchObject({ code: "HANDLER_NOT_FOUND" });
});

test("one idempotency key in two kits on one database runs the handler once", async () => {
  const kit = openTestKit();
  const other = openTestKit({ database: kit.file });
  let runs = 0;
  for (const each of [kit, other]) each.define({ name: "pay", schema: anything, handler: () => ++runs });
  await Promise.all([kit.ready(), other.ready()]);
  const calls = Array.from({ length: 40 }, (_, n) =>
    (n % 2 === 0 ? kit : other).executor.run("pay", {}, { idempotencyKey: "k" }),
  );
  for (const call of await Promise.allSettled(calls)) {
    if (call.status === "fulfilled") expect(call.value).toBe(1);
    else expect(call.reason).toMatchObject({ code: "IDEMPOTENCY_IN_PROGRESS" });
  }
  expect(runs).toBe(1);
});

test("a secret of an input or output is nowhere in the database's files or the log", async () => {
  const kit = openTestKit();
  const secret = "c0rrect-horse-battery";
  kit.define({
    name: "login",
    schema: { type: "object", properties: { pin: { writeOnly: true, type: "string" }, n: { type: "number" } } },
    handler: () => ({ session: { access_token: secret } }),
  });
  const input = { pin: secret, password: secret, list: [{ "api-key": secret }] };
  for (const idempotencyKey of [undefined, "key"]) await kit.executor.run("login", input, { idempotencyKey });
  await kit.executor.run("login", { ...input, n: secret }).catch(() => {});
  await kit.executor.run("login", input, { idempotencyKey: "other", timeoutMs: 1 }).catch(() => {});
  await kit.close();
  for (const stored of databaseKind === "postgres" ? await readTables(kit.file) : readFiles(kit.file))
    expect(stored).not.toContain(secret);
  expect(JSON.stringify(kit.logged)).not.toContain(secret);
});

test("a skill that another process registered a moment before can be run at once by who registers it too", async () => {
  const kit = openTestKit();
  const other = openTestKit({ database: kit.file });
  await Promise.all([kit.ready(), other.ready()]);
  const definition = { name: "pay", schema: anything, handler: "pay" } as const;
  for (const each of [kit, other]) each.executor.registerHandler("pay", () => 1);
  await kit.registry.register(definition);
  await other.registry.register(definition);
  expect(await other.executor.run("pay", {})).toBe(1);
});

function readFiles(database: string): string[] {
  const folder = dirname(database);
  return readdirSync(folder).map((file) => readFileSync(join(folder, file), "latin1"));
}

async function readTables(database: string): Promise<string[]> {
  const client = await connectBeside(database);
  const { rows } = await client.query<{ tablename: string }>(
    "select tablename from pg_tables where schemaname = current_schema()",
  );
  const tables: string[] = [];
  for (const { tablename } of rows) tables.push(JSON.stringify((await client.query(`select * from ${tablename}`)).rows));
  return tables;
}
