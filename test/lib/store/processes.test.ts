import { expect, test } from "vitest";
import { openStore } from "../../../lib/store/open.js";
import { readSettings } from "../../../lib/store/settings.js";
import { readRevision } from "../../../lib/store/skills.js";
import { databaseKind, newDatabase, newEmptyDatabase } from "../../fixtures/database.js";
import { runTogether } from "./processes.js";

// Each is a transaction over the network on PostgreSQL.
const times = databaseKind === "sqlite" ? 1_000 : 200;

test("two processes that each read and update one row hundreds of times see no error and lose no update", {
  timeout: 120_000,
}, async () => {
  const database = newDatabase();
  const ends = await runTogether("increment.ts", [database, String(times)], 2);
  expect(ends.map(({ code, stderr }) => ({ code, stderr }))).toEqual(Array(2).fill({ code: 0, stderr: "" }));
  const store = await openStore({ database, durability: "process" });
  expect(await store.read(readSettings())).toEqual({ counter: 2 * times });
  await store.close();
});

test("ten processes that open the same new database at once all succeed", { timeout: 120_000 }, async () => {
  const database = newEmptyDatabase();
  const ends = await runTogether("open.ts", [database], 10);
  expect(ends.map(({ stdout }) => stdout.trim())).toEqual(Array(10).fill("opened"));
  const store = await openStore({ database, durability: "process" });
  expect(await store.read(readRevision())).toBe(10);
  await store.close();
});
