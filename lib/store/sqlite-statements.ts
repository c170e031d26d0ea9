import type { SqliteConnection, SqliteStatement } from "./driver.js";

/** Enough for every query of this package several times over; lists of different lengths make different texts. */
const limit = 200;

/** Prepares each SQL text once, and forgets the one that was not used for the longest time. */
export function cacheStatements(connection: SqliteConnection): (sql: string) => SqliteStatement {
  const statements = new Map<string, SqliteStatement>();
  return (sql) => {
    const known = statements.get(sql);
    const statement = known ?? connection.prepare(sql);
    if (known) statements.delete(sql);
    else if (statements.size >= limit) statements.delete(statements.keys().next().value ?? "");
    statements.set(sql, statement);
    return statement;
  };
}
