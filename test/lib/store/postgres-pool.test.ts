import { sql } from "kysely";
import pg from "pg";
import { expect, inject, onTestFinished, test } from "vitest";
import { openPostgres } from "../../../lib/store/postgres.js";
import type { PostgresPool } from "../../../lib/store/postgres-driver.js";
import { allowSecondRelease } from "../../../lib/store/postgres-pool.js";
import { db } from "../../../lib/store/query.js";
import type { Operation } from "../../../lib/store/store.js";
import { applicationName, connectBeside, newDatabase } from "../../fixtures/database.js";
import { openWorkingKit, until } from "../../fixtures/kit.js";

test("a client that a callback got may be released twice, and is in the pool once", async () => {
  const pool = new pg.Pool({ connectionString: inject("postgresUrl"), max: 1 });
  onTestFinished(() => pool.end());
  allowSecondRelease(pool as unknown as PostgresPool);
  const connectOnce = () =>
    new Promise<void>((resolve, reject) => {
      pool.connect((error, _client, release) => {
        if (error) return reject(error);
        release();
        release();
        resolve();
      });
    });
  await connectOnce();
  await connectOnce();
  expect([pool.totalCount, pool.idleCount, pool.waitingCount]).toEqual([1, 1, 0]);
  const client = await pool.connect();
  expect((await client.query("select 1 as one")).rows).toEqual([{ one: 1 }]);
  client.release();
  expect((await pool.query("select 2 as two")).rows).toEqual([{ two: 2 }]);
});

function* sleepInDatabase(): Operation<void> {
  yield sql`select pg_sleep(0.1)`.compile(db);
}

/** How many connections there are to a database, of which a test does not know the processes. */
async function countConnections(client: pg.Client, database: string): Promise<number> {
  const text = "select count(*)::int as count from pg_stat_activity where application_name = $1";
  return (await client.query(text, [applicationName(database)])).rows[0].count;
}

test("a store takes as many connections as pool_size says, and one more to hear of changes", async () => {
  const database = newDatabase(undefined, { pool_size: "2" });
  const client = await connectBeside(database);
  const store = await openPostgres({ database, durability: "process" });
  onTestFinished(() => store.close());
  await Promise.all(Array.from({ length: 10 }, () => store.read(sleepInDatabase())));
  expect(await countConnections(client, database)).toBe(2);
  store.watch?.(() => {});
  await until(async () => (await countConnections(client, database)) === 3);
  await Promise.all(Array.from({ length: 10 }, () => store.read(sleepInDatabase())));
  expect(await countConnections(client, database)).toBe(3);
});

test("a worker takes at most six more", async () => {
  const kit = openWorkingKit({ database: newDatabase(undefined, { pool_size: "2" }), worker: { concurrency: 20 } });
  const client = await connectBeside(kit.file);
  kit.define({ name: "any", schema: { type: "object" }, handler: () => 1 });
  await Promise.all(Array.from({ length: 30 }, () => kit.executor.enqueue("any", {})));
  let most = 0;
  await until(async () => {
    most = Math.max(most, await countConnections(client, kit.file));
    return (await kit.executor.countExecutions({ status: "SUCCESS" })) === 30;
  });
  expect(most).toBeGreaterThan(3);
  expect(most).toBeLessThanOrEqual(2 + 1 + 6);
});
