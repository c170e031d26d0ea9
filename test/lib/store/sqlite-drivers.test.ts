import { expect, test } from "vitest";
import type { SqliteDriverLoader } from "../../../lib/store/driver.js";
import { openSqlite } from "../../../lib/store/sqlite.js";
import { loadSqliteDriver } from "../../../lib/store/sqlite-drivers.js";

const missing: SqliteDriverLoader = {
  name: "better-sqlite3",
  load() {
    throw new Error("Could not locate the bindings file. Tried:\n → /app/node_modules/better-sqlite3/build/better_sqlite3.node");
  },
};

test("this Node has a driver", () => {
  const connection = loadSqliteDriver().open(":memory:");
  expect(connection.prepare("select 1 as one").all([])).toEqual([{ one: 1 }]);
  connection.close();
});

test("a driver whose native part is missing gives way to the next one", () => {
  const next = { open: () => loadSqliteDriver().open(":memory:") };
  expect(loadSqliteDriver([missing, { name: "next", load: () => next }])).toBe(next);
});

test("without any driver the error names each one, why it failed, and the commands that cure it", async () => {
  const absent: SqliteDriverLoader = {
    name: "node:sqlite",
    load() {
      throw new Error("No such built-in module: node:sqlite");
    },
  };
  const opening = openSqlite({ database: ":memory:", durability: "process" }, [missing, absent]);
  await expect(opening).rejects.toMatchObject({ code: "STORE_DRIVER_UNAVAILABLE", status: 500 });
  const error: unknown = await opening.catch((reason: unknown) => reason);
  const { message, cause } = error as Error & { cause: AggregateError };
  expect(message).toContain("better-sqlite3 (Could not locate the bindings file. Tried: ");
  expect(message).toContain("node:sqlite (No such built-in module: node:sqlite)");
  for (const cure of [
    "npm install better-sqlite3",
    "npm rebuild better-sqlite3",
    "npm approve-scripts better-sqlite3",
    "22.13",
  ]) {
    expect(message).toContain(cure);
  }
  expect(cause.errors).toHaveLength(2);
});
