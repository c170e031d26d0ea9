import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { betterSqlite3 } from "../../../lib/store/better-sqlite3.js";
import type { SqliteDriverLoader } from "../../../lib/store/driver.js";
import { nodeSqlite } from "../../../lib/store/node-sqlite.js";
import { openSqlite } from "../../../lib/store/sqlite.js";
import { storeContract } from "../../contract/store.js";

for (const loader of [betterSqlite3, nodeSqlite].filter(isHere)) {
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

/** Which drivers this Node has decides which are tested; another test says that one must be there. */
function isHere(loader: SqliteDriverLoader): boolean {
  try {
    loader.load();
    return true;
  } catch {
    return false;
  }
}
