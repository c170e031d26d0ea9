import { createRequire } from "node:module";
import type { SqliteConnection, SqliteDriver, SqliteDriverLoader } from "./driver.js";

/** The binding from npm: faster than Node's own, but it needs a native build that may be missing. */
export const betterSqlite3: SqliteDriverLoader = {
  name: "better-sqlite3",
  load(): SqliteDriver {
    const Database = createRequire(import.meta.url)("better-sqlite3") as BetterSqlite3;
    // The package loads its native part with the first connection, not when it is required.
    new Database(":memory:").close();
    return { open: (file) => connect(new Database(file, { timeout: 0 })) };
  },
};

type BetterSqlite3 = new (file: string, options?: { readonly timeout?: number }) => BetterConnection;

interface BetterConnection {
  prepare(sql: string): BetterStatement;
  exec(sql: string): unknown;
  close(): unknown;
}

interface BetterStatement {
  all(values: readonly unknown[]): unknown[];
  run(values: readonly unknown[]): { readonly changes: number };
}

function connect(database: BetterConnection): SqliteConnection {
  return {
    prepare(sql) {
      const statement = database.prepare(sql);
      return {
        all: (values) => statement.all(values) as Record<string, unknown>[],
        run: (values) => statement.run(values).changes,
      };
    },
    exec: (sql) => void database.exec(sql),
    close: () => void database.close(),
  };
}
