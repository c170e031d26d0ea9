import type { CompiledQuery } from "kysely";
import { SkillError } from "../errors.js";
import type { SqliteConnection, SqliteStatement } from "./driver.js";
import { rollback } from "./migrate.js";
import { retryWhileBusy } from "./patience.js";
import { returnsRows } from "./query.js";
import type { ExecutionRow } from "./rows.js";
import { sqliteFault, toStoreError } from "./sqlite-errors.js";
import { cacheStatements } from "./sqlite-statements.js";
import type { Operation, QueryAnswer, RefusedRow, Store } from "./store.js";
import { compileExecutionUpsert, executionColumns } from "./upsert.js";

/** How long a write waits while another process holds the lock. */
const writeLimitMs = 5_000;

/** The store over one connection, which it owns from here on. Everything on it is synchronous, so transactions never overlap. */
export function createSqliteStore(connection: SqliteConnection, database: string): Store {
  const prepare = cacheStatements(connection);
  const upsert = prepare(compileExecutionUpsert().sql);
  let open = true;

  const guarded = <T>(work: () => T): T => {
    if (!open) throw new SkillError("STORE_UNAVAILABLE", `The database ${database} was closed by this process.`);
    return work();
  };
  const translated = (error: unknown) => toStoreError(error, database);

  return {
    kind: "sqlite",
    read(operation) {
      try {
        return guarded(() => drive(operation, prepare));
      } catch (error) {
        throw translated(error);
      }
    },
    async write(operation) {
      try {
        return await retryWhileBusy(
          () => guarded(() => inTransaction(connection, () => drive(operation(), prepare))),
          writeLimitMs,
        );
      } catch (error) {
        throw translated(error);
      }
    },
    upsertExecutions(rows) {
      try {
        return guarded(() => inTransaction(connection, () => upsertRows(upsert, rows)));
      } catch (error) {
        throw translated(error);
      }
    },
    close() {
      if (!open) return;
      open = false;
      connection.close();
    },
  };
}

/** The lock is taken at the start: a transaction that reads first and then wants to write could no longer get it. */
function inTransaction<T>(connection: SqliteConnection, work: () => T): T {
  connection.exec("BEGIN IMMEDIATE");
  try {
    const result = work();
    connection.exec("COMMIT");
    return result;
  } catch (error) {
    rollback(connection);
    throw error;
  }
}

function drive<T>(operation: Operation<T>, prepare: (sql: string) => SqliteStatement): T {
  let step = operation.next();
  while (!step.done) {
    let answer: QueryAnswer;
    try {
      answer = execute(step.value, prepare);
    } catch (error) {
      step = operation.throw(error);
      continue;
    }
    step = operation.next(answer);
  }
  return step.value;
}

function execute(query: CompiledQuery, prepare: (sql: string) => SqliteStatement): QueryAnswer {
  const statement = prepare(query.sql);
  if (!returnsRows(query)) return { rows: [], changes: statement.run(query.parameters) };
  const rows = statement.all(query.parameters);
  return { rows, changes: rows.length };
}

/**
 * A statement that violates a constraint undoes only itself, so the rest of the batch goes on without a savepoint for each row.
 * Errors that may have ended the transaction are thrown.
 */
function upsertRows(upsert: SqliteStatement, rows: readonly ExecutionRow[]): RefusedRow[] {
  const refused: RefusedRow[] = [];
  for (const row of rows) {
    try {
      upsert.run(executionColumns.map((column) => row[column]));
    } catch (error) {
      const fault = sqliteFault(error);
      // Without a fault of SQLite the binding refused to bind a value.
      if (fault !== "row" && fault !== undefined) throw error;
      refused.push({ id: row.id, error });
    }
  }
  return refused;
}
