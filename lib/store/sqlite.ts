import { resolve } from "node:path";
import { isSkillError, SkillError } from "../errors.js";
import type { SqliteConnection, SqliteDriverLoader } from "./driver.js";
import { migrate } from "./migrate.js";
import { retryWhileBusy } from "./patience.js";
import { loadSqliteDriver } from "./sqlite-drivers.js";
import { sqliteFault, toStoreError } from "./sqlite-errors.js";
import { prepareSqliteFile } from "./sqlite-file.js";
import { createSqliteStore } from "./sqlite-store.js";
import type { Store, StoreConfig } from "./store.js";

/** How long an opening waits while another process holds the lock. */
const openLimitMs = 5_000;

/**
 * Opens an SQLite file (made with mode 0600 when it is not there) or `:memory:`, and brings its tables up to date.
 * @param loaders the drivers to try, in this order
 * @throws STORE_DRIVER_UNAVAILABLE no driver works here
 * @throws STORE_UNAVAILABLE locked for 5 s, or full
 * @throws STORE_INVALID missing folder, no permission, not a database, damaged, or made by a newer version
 */
export async function openSqlite(config: StoreConfig, loaders?: readonly SqliteDriverLoader[]): Promise<Store> {
  const driver = loadSqliteDriver(loaders);
  const file = config.database === ":memory:" ? config.database : resolve(config.database.trim());
  if (file !== ":memory:") await prepareSqliteFile(file);
  let connection: SqliteConnection | undefined;
  try {
    const opened = driver.open(file);
    connection = opened;
    await retryWhileBusy(async () => {
      configure(opened, config.durability);
      await migrate(opened);
    }, openLimitMs);
    return createSqliteStore(opened, file);
  } catch (error) {
    connection?.close();
    throw toOpenError(error, file);
  }
}

function configure(connection: SqliteConnection, durability: StoreConfig["durability"]): void {
  // A wait inside SQLite would stop the whole process.
  connection.exec("PRAGMA busy_timeout = 0");
  // Readers and one writer do not wait for each other. In memory, and on file systems without shared memory, SQLite keeps another mode.
  connection.exec("PRAGMA journal_mode = WAL");
  connection.exec(`PRAGMA synchronous = ${durability === "power" ? "FULL" : "NORMAL"}`);
  // After a burst or a long reader the log does not keep its size for ever.
  connection.exec("PRAGMA journal_size_limit = 67108864");
}

/** Why a database cannot be opened. */
export function toOpenError(error: unknown, file: string): SkillError {
  // What never worked needs the operator, while the same fault of a database in use may pass.
  const denied = sqliteFault(error) === "denied";
  const known = denied ? error : toStoreError(error, file);
  if (isSkillError(known)) return known;
  const text = error instanceof Error ? error.message : String(error);
  const cure = denied ? accessCure : "";
  return new SkillError("STORE_INVALID", `The database ${file} cannot be used: ${text}.${cure}`, { cause: error });
}

const accessCure = " This process must be able to read and write it and to make files in its folder.";
