import {
  type CompiledQuery,
  type DatabaseConnection,
  Kysely,
  Migrator,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from "kysely";
import type { SqliteConnection } from "./driver.js";
import { isComplete, MIGRATION_TABLE, type MigrationState, migrationState, migrations } from "./migrations.js";
import { returnsRows } from "./query.js";

const names = { migrationTableName: MIGRATION_TABLE, migrationLockTableName: `${MIGRATION_TABLE}_lock` };

/**
 * Brings a database to this version's tables. The connection must not be used by anyone else until this has ended. Several processes
 * may do it at the same time: all but one get the busy error of SQLite, which the caller waits out.
 * @throws STORE_INVALID the database belongs to a newer version of this package
 */
export async function migrate(connection: SqliteConnection): Promise<void> {
  if (isCurrent(connection)) return;
  // Kysely's own migration lock does nothing on SQLite.
  connection.exec("BEGIN IMMEDIATE");
  try {
    // Another process, perhaps of a newer version, may have had the lock before.
    if (!isCurrent(connection)) {
      const { error } = await createMigrator(connection).migrateToLatest();
      if (error !== undefined) throw error;
    }
    connection.exec("COMMIT");
  } catch (error) {
    rollback(connection);
    throw error;
  }
}

/** Ends a transaction, if the database has not already done so because of what went wrong in it. */
export function rollback(connection: SqliteConnection): void {
  try {
    connection.exec("ROLLBACK");
  } catch {}
}

/** Looked at without a lock. */
export function readMigrations(connection: SqliteConnection): MigrationState {
  const tables = connection.prepare("select name from sqlite_master where type = 'table' and name = ?");
  if (tables.all([names.migrationTableName]).length === 0) return migrationState([]);
  const rows = connection.prepare(`select name from ${names.migrationTableName} order by name`).all([]);
  return migrationState(rows.map((row) => String(row.name)));
}

/** Looked at without a lock, so that a process starts while another one is writing. */
function isCurrent(connection: SqliteConnection): boolean {
  return isComplete(readMigrations(connection).applied);
}

function createMigrator(connection: SqliteConnection): Migrator {
  const database = new Kysely<unknown>({
    dialect: {
      createAdapter: () => new SqliteAdapter(),
      createIntrospector: (db) => new SqliteIntrospector(db),
      createQueryCompiler: () => new SqliteQueryCompiler(),
      // Transactions are this file's, not Kysely's.
      createDriver: () => ({
        init: async () => {},
        acquireConnection: async () => connectionFor(connection),
        beginTransaction: async () => {},
        commitTransaction: async () => {},
        rollbackTransaction: async () => {},
        releaseConnection: async () => {},
        destroy: async () => {},
      }),
    },
  });
  return new Migrator({
    db: database,
    provider: { getMigrations: async () => migrations },
    disableTransactions: true,
    ...names,
  });
}

function connectionFor(connection: SqliteConnection): DatabaseConnection {
  return {
    async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
      const statement = connection.prepare(query.sql);
      if (returnsRows(query)) return { rows: statement.all(query.parameters) as Row[] };
      statement.run(query.parameters);
      return { rows: [] };
    },
    streamQuery(): AsyncIterableIterator<never> {
      throw new Error("Migrations do not stream");
    },
  };
}
