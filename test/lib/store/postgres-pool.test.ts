import pg from "pg";
import { expect, inject, onTestFinished, test } from "vitest";
import type { PostgresPool } from "../../../lib/store/postgres-driver.js";
import { allowSecondRelease } from "../../../lib/store/postgres-pool.js";

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
