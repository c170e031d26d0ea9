import { createRequire } from "node:module";
import type { SqliteConnection, SqliteDriver, SqliteDriverLoader } from "./driver.js";

/** Node's own binding: in every Node from 22.13 on. */
export const nodeSqlite: SqliteDriverLoader = {
  name: "node:sqlite",
  load(): SqliteDriver {
    const { DatabaseSync } = createRequire(import.meta.url)("node:sqlite") as { DatabaseSync: NodeSqlite };
    new DatabaseSync(":memory:").close();
    return { open: (file) => connect(new DatabaseSync(file)) };
  },
};

type NodeSqlite = new (file: string) => NodeConnection;

interface NodeConnection {
  prepare(sql: string): NodeStatement;
  exec(sql: string): void;
  close(): void;
}

interface NodeStatement {
  all(...values: readonly unknown[]): object[];
  run(...values: readonly unknown[]): { readonly changes: number | bigint };
}

function connect(database: NodeConnection): SqliteConnection {
  return {
    prepare(sql) {
      const statement = database.prepare(sql);
      return {
        // Its rows have no prototype; everything above expects plain objects.
        all: (values) => statement.all(...values).map((row) => ({ ...row })),
        run: (values) => Number(statement.run(...values).changes),
      };
    },
    exec: (sql) => database.exec(sql),
    close: () => database.close(),
  };
}
