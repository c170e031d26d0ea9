import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import { betterSqlite3 } from "../../../lib/store/better-sqlite3.js";
import type { SqliteDriverLoader } from "../../../lib/store/driver.js";
import { nodeSqlite } from "../../../lib/store/node-sqlite.js";
import { openSqlite } from "../../../lib/store/sqlite.js";
import { storeContract } from "../../contract/store.js";

for (const loader of [betterSqlite3, nodeSqlite]) {
  const missing = reasonMissing(loader);
  if (missing !== undefined) {
    test(`${loader.name} keeps the contract`, (context) => context.skip(missing));
    continue;
  }
  storeContract(`${loader.name} on a file`, async () => {
    const folder = await mkdtemp(join(tmpdir(), "express-skills-store-"));
    const database = join(folder, "skills.db");
    return {
      store: await openSqlite({ database, durability: "process" }, [loader]),
      discard: () => rm(folder, { recursive: true }),
    };
  });
  storeContract(`${loader.name} in memory`, async () => ({
    store: await openSqlite({ database: ":memory:", durability: "power" }, [loader]),
    discard: async () => {},
  }));
}

/** Which drivers are here depends on the Node that runs the tests; another test says that there must be one. */
function reasonMissing(loader: SqliteDriverLoader): string | undefined {
  try {
    loader.load();
    return undefined;
  } catch (error) {
    return `not in Node ${process.version}: ${error instanceof Error ? error.message.split("\n")[0] : error}`;
  }
}
