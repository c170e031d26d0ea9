import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { findExecution } from "../../../lib/store/executions.js";
import { openStore } from "../../../lib/store/open.js";
import { nextRevision, readRevision } from "../../../lib/store/skills.js";
import { loadSqliteDriver } from "../../../lib/store/sqlite-drivers.js";
import type { StoreConfig } from "../../../lib/store/store.js";
import { executionRow } from "../../contract/rows.js";
import { startChild } from "./processes.js";
import { temporaryFolder } from "./temporary.js";

const thrownBy = (work: () => unknown): unknown => {
  try {
    work();
  } catch (error) {
    return error;
  }
  return undefined;
};

async function newConfig(): Promise<StoreConfig> {
  return { database: join(await temporaryFolder(), "skills.db"), durability: "process" };
}

test("while another process holds the lock the event loop goes on, the audit hears it at once, a write waits", async () => {
  const config = await newConfig();
  const store = await openStore(config);
  const child = await startChild("lock.ts", [config.database]);

  let turns = 0;
  const timer = setInterval(() => {
    turns++;
  }, 10);
  const error = thrownBy(() => store.upsertExecutions([executionRow()]));
  expect(error).toMatchObject({ code: "STORE_UNAVAILABLE", retryAfterMs: expect.any(Number) });
  let written = false;
  const write = store.write(nextRevision).then((revision) => {
    written = true;
    return revision;
  });
  await delay(3_200);
  expect(written).toBe(false);
  expect(store.read(readRevision())).toBe(0);
  // A process that only restarts needs no lock either.
  const other = await openStore(config);
  await other.close();
  child.open();
  expect(await write).toBe(1);
  clearInterval(timer);
  // A driver that waits for the lock itself would block for its whole busy time, and leave a turn or two.
  expect(turns).toBeGreaterThan(10);

  expect(await store.upsertExecutions([executionRow()])).toEqual([]);
  expect(await store.read(findExecution(executionRow().id))).toEqual(executionRow());
  await store.close();
  expect((await child.end).code).toBe(0);
});

test("a lock that stays makes a write and the opening of a new file give up, and both work when it is gone", async () => {
  const config = await newConfig();
  const fresh = await newConfig();
  const store = await openStore(config);
  const locks = [config, fresh].map(({ database }) => {
    const connection = loadSqliteDriver().open(database);
    connection.exec("PRAGMA journal_mode = WAL");
    connection.exec("BEGIN IMMEDIATE");
    return connection;
  });
  const attempts = await Promise.allSettled([store.write(nextRevision), openStore(fresh)]);
  for (const attempt of attempts) {
    expect(attempt).toMatchObject({ status: "rejected", reason: { code: "STORE_UNAVAILABLE" } });
    expect(attempt).toMatchObject({ reason: { message: expect.stringContaining("locked"), retryAfterMs: expect.any(Number) } });
  }
  for (const connection of locks) connection.exec("COMMIT");
  for (const connection of locks) connection.close();
  expect(await store.write(nextRevision)).toBe(1);
  await store.close();
  await (await openStore(fresh)).close();
});

test("a write that waits for a lock ends when the store is closed", async () => {
  const config = await newConfig();
  const store = await openStore(config);
  const connection = loadSqliteDriver().open(config.database);
  connection.exec("BEGIN IMMEDIATE");
  const write = store.write(nextRevision);
  await Promise.all([expect(write).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" }), store.close()]);
  connection.close();
});
