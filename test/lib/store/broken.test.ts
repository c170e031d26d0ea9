import { chmod, mkdir, open, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { SqliteConnection, SqliteDriverLoader } from "../../../lib/store/driver.js";
import { countExecutions, findExecution } from "../../../lib/store/executions.js";
import { openStore } from "../../../lib/store/open.js";
import { readSkillHeadsSince } from "../../../lib/store/skills.js";
import { openSqlite } from "../../../lib/store/sqlite.js";
import { loadSqliteDriver } from "../../../lib/store/sqlite-drivers.js";
import type { Store, StoreConfig } from "../../../lib/store/store.js";
import { executionRow, idAt } from "../../contract/rows.js";
import { startChild } from "./processes.js";
import { temporaryFolder } from "./temporary.js";

const at = (database: string) => ({ database, durability: "process" }) as const;

test("a file in a folder that does not exist is refused by name", async () => {
  const database = join(await temporaryFolder(), "missing", "skills.db");
  await expect(openStore(at(database))).rejects.toMatchObject({
    code: "STORE_INVALID",
    message: expect.stringMatching(/missing\/skills\.db.*does not exist/),
  });
});

test("a folder, and a path through a file, are refused", async () => {
  const folder = await temporaryFolder();
  await expect(openStore(at(folder))).rejects.toMatchObject({ code: "STORE_INVALID", message: expect.stringMatching(/folder/) });
  await writeFile(join(folder, "file"), "");
  await expect(openStore(at(join(folder, "file", "skills.db")))).rejects.toMatchObject({ code: "STORE_INVALID" });
});

test("what is not a database is refused and left as it is", async () => {
  const database = join(await temporaryFolder(), "notes.txt");
  const text = "These are my notes. ".repeat(200);
  await writeFile(database, text);
  await expect(openStore(at(database))).rejects.toMatchObject({
    code: "STORE_INVALID",
    message: expect.stringMatching(/notes\.txt.*not a database/),
    cause: expect.any(Error),
  });
  expect(await readFile(database, "utf8")).toBe(text);
});

test("a damaged header and damaged tables are told at opening or at the first use", async () => {
  for (const [offset, length] of [
    [16, 80],
    [4096, 40_000],
  ] as const) {
    const database = join(await temporaryFolder(), "skills.db");
    await (await openStore(at(database))).close();
    const file = await open(database, "r+");
    await file.write(Buffer.alloc(length, 0xa5), 0, length, offset);
    await file.close();
    await expect(openAndUse(database)).rejects.toMatchObject({
      code: "STORE_INVALID",
      message: expect.stringContaining("skills.db"),
    });
  }
});

async function openAndUse(database: string): Promise<void> {
  const store = await openStore(at(database));
  try {
    await store.read(readSkillHeadsSince(0));
    await store.upsertExecutions([executionRow()]);
  } finally {
    await store.close();
  }
}

test("a database of a newer version is refused, but does not stop a process that has it open", async () => {
  const database = join(await temporaryFolder(), "skills.db");
  const running = await openStore(at(database));
  const connection = loadSqliteDriver().open(database);
  connection.exec("insert into skills_migrations (name, timestamp) values ('9999_future', '2099-01-01T00:00:00.000Z')");
  connection.exec("alter table skill_executions add column future text");
  connection.close();
  await expect(openStore(at(database))).rejects.toMatchObject({
    code: "STORE_INVALID",
    message: expect.stringContaining("9999_future"),
  });
  expect(await running.upsertExecutions([executionRow()])).toEqual([]);
  expect(await running.read(findExecution(executionRow().id))).toMatchObject({ status: "RUNNING" });
  await running.close();
});

test("an application's own database with a table of the same name is refused and not changed", async () => {
  const database = join(await temporaryFolder(), "app.db");
  const connection = loadSqliteDriver().open(database);
  connection.exec("create table skills (mine text)");
  await expect(openStore(at(database))).rejects.toMatchObject({
    code: "STORE_INVALID",
    message: expect.stringContaining("skills"),
  });
  const tables = connection.prepare("select name from sqlite_master").all([]);
  connection.close();
  expect(tables).toEqual([{ name: "skills" }]);
});

test("a full disk refuses the whole batch as a passing fault, keeps what is there, and recovers", async () => {
  const { store, connection } = await openWithConnection(join(await temporaryFolder(), "skills.db"));
  const before = executionRow({ id: idAt("2026-01-01T00:00:00Z", 1), status: "SUCCESS" });
  await store.upsertExecutions([before]);
  connection.exec("PRAGMA max_page_count = 1");
  const rows = Array.from({ length: 50 }, (_, n) =>
    executionRow({ id: idAt("2026-01-02T00:00:00Z", n), input: JSON.stringify("x".repeat(10_000)) }),
  );
  const error = await Promise.resolve()
    .then(() => store.upsertExecutions(rows))
    .catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code: "STORE_UNAVAILABLE", message: expect.stringContaining("full") });
  expect(await store.read(countExecutions({}))).toBe(1);
  connection.exec("PRAGMA max_page_count = 1000000");
  expect(await store.upsertExecutions(rows)).toEqual([]);
  expect(await store.read(countExecutions({}))).toBe(51);
  await store.close();
});

async function openWithConnection(
  database: string,
  durability: StoreConfig["durability"] = "process",
): Promise<{ store: Store; connection: SqliteConnection }> {
  const opened: SqliteConnection[] = [];
  const loader: SqliteDriverLoader = {
    name: "remembering",
    load() {
      const driver = loadSqliteDriver();
      return {
        open(file) {
          const connection = driver.open(file);
          opened.push(connection);
          return connection;
        },
      };
    },
  };
  const store = await openSqlite({ database, durability }, [loader]);
  return { store, connection: opened[0] as SqliteConnection };
}

test("the connection logs ahead, syncs as asked and never waits inside SQLite", async () => {
  for (const [durability, synchronous] of [
    ["process", 1],
    ["power", 2],
  ] as const) {
    const { store, connection } = await openWithConnection(join(await temporaryFolder(), "skills.db"), durability);
    const pragma = (name: string) => Object.values(connection.prepare(`PRAGMA ${name}`).all([])[0] ?? {})[0];
    expect(pragma("journal_mode")).toBe("wal");
    expect(pragma("synchronous")).toBe(synchronous);
    expect(pragma("busy_timeout")).toBe(0);
    await store.close();
  }
});

test("a new file and its side files are readable by their owner alone", async (context) => {
  context.skip(process.platform === "win32", "Windows has no file modes");
  const database = join(await temporaryFolder(), "skills.db");
  const store = await openStore(at(database));
  await store.upsertExecutions([executionRow()]);
  for (const suffix of ["", "-wal", "-shm"]) expect((await stat(database + suffix)).mode & 0o777, suffix).toBe(0o600);
  await store.close();
});

// As root every file may be written, so a process of another user looks at them.
const uid = process.getuid?.() === 0 ? 65_534 : undefined;

test("files and folders that may not be written are refused by name", async (context) => {
  context.skip(process.platform === "win32", "Windows has no file modes");
  const folder = await temporaryFolder();
  const sealed = join(folder, "sealed");
  const database = join(folder, "skills.db");
  const inSealed = join(sealed, "skills.db");
  await mkdir(sealed);
  for (const path of [database, inSealed]) await (await openStore(at(path))).close();
  await chmod(folder, 0o755);
  await chmod(sealed, 0o555);
  await chmod(database, 0o444);
  await chmod(inSealed, 0o666);
  const say = async (path: string) => {
    const child = await startChild("open.ts", [path], uid === undefined ? {} : { uid });
    child.open();
    return (await child.end).stdout;
  };
  const [readOnlyFile, readOnlyFolder, newFile] = await Promise.all([say(database), say(inSealed), say(join(sealed, "new.db"))]);
  expect(readOnlyFile).toMatch(/^STORE_INVALID: .*skills\.db.*may not read and write/);
  expect(readOnlyFolder).toMatch(/^STORE_INVALID: .*make files in its folder/);
  expect(newFile).toMatch(/^STORE_INVALID: .*new\.db/);
  await chmod(sealed, 0o755);
});
