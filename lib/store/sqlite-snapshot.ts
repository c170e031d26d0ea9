import { resolve } from "node:path";
import type { SqliteConnection } from "./driver.js";
import { rollback } from "./migrate.js";
import { retryWhileBusy } from "./patience.js";
import { toOpenError } from "./sqlite.js";
import { loadSqliteDriver } from "./sqlite-drivers.js";
import { createSqliteStore } from "./sqlite-store.js";
import type { Operation } from "./store.js";

/** How long it is waited for a process that writes. */
const openLimitMs = 5_000;

/** An SQLite file that nobody can write until it is closed. */
export interface SqliteSnapshot {
  readonly file: string;
  read<T>(operation: Operation<T>): T;
  close(): void;
}

/**
 * Locks a file, which must be there and of this version, against writing, and reads it.
 * @throws STORE_DRIVER_UNAVAILABLE STORE_UNAVAILABLE STORE_INVALID
 */
export async function openSqliteSnapshot(database: string): Promise<SqliteSnapshot> {
  const file = resolve(database);
  const driver = loadSqliteDriver();
  let connection: SqliteConnection | undefined;
  try {
    const opened = driver.open(file);
    connection = opened;
    await retryWhileBusy(() => opened.exec("BEGIN IMMEDIATE"), openLimitMs);
    const store = createSqliteStore(opened, file);
    return {
      file,
      // This store's answers are there at once.
      read: <T>(operation: Operation<T>) => store.read(operation) as T,
      close() {
        rollback(opened);
        opened.close();
      },
    };
  } catch (error) {
    connection?.close();
    throw toOpenError(error, file);
  }
}
