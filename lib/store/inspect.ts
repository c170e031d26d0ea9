import { resolve } from "node:path";
import type { SqliteConnection } from "./driver.js";
import { readMigrations } from "./migrate.js";
import type { MigrationState } from "./migrations.js";
import { toOpenError } from "./sqlite.js";
import { loadSqliteDriver, sqliteDriverLoaders } from "./sqlite-drivers.js";

/**
 * Which migrations an SQLite file has, without changing its tables. The file must be there.
 * @throws STORE_DRIVER_UNAVAILABLE STORE_UNAVAILABLE STORE_INVALID
 */
export function inspectSqlite(database: string): MigrationState {
  const driver = loadSqliteDriver();
  const file = resolve(database);
  let connection: SqliteConnection | undefined;
  try {
    connection = driver.open(file);
    return readMigrations(connection);
  } catch (error) {
    throw toOpenError(error, file);
  } finally {
    connection?.close();
  }
}

/** The drivers that work here, in the order in which they are tried. */
export function workingSqliteDrivers(): string[] {
  return sqliteDriverLoaders
    .filter((loader) => {
      try {
        loader.load();
        return true;
      } catch {
        return false;
      }
    })
    .map((loader) => loader.name);
}
