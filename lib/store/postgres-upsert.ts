import type { PostgresQuery, PostgresResult } from "./postgres-driver.js";
import { postgresFault } from "./postgres-errors.js";
import { storable, toPostgres } from "./postgres-query.js";
import type { ExecutionRow } from "./rows.js";
import type { RefusedRow } from "./store.js";
import { compileExecutionsUpsert, executionColumns } from "./upsert.js";

const numberColumns: ReadonlySet<keyof ExecutionRow> = new Set(["attempts", "duration_ms"]);

/**
 * Writes executions in one statement, which is one transaction and one round trip. When the database refuses a row it refuses the
 * statement: then each half is written by itself, down to the row. Writing a row twice changes nothing, so a batch of which a part was
 * written may be tried again.
 */
export function createPostgresUpsert(
  query: (query: PostgresQuery) => Promise<PostgresResult>,
): (rows: readonly ExecutionRow[]) => Promise<readonly RefusedRow[]> {
  const { text } = toPostgres(compileExecutionsUpsert());

  const write = async (rows: readonly ExecutionRow[], refused: RefusedRow[]): Promise<void> => {
    if (rows.length === 0) return;
    try {
      await query({ text, values: executionColumns.map((column) => rows.map((row) => storable(row[column]))) });
    } catch (error) {
      if (postgresFault(error) !== "row") throw error;
      if (rows.length === 1) {
        refused.push({ id: (rows[0] as ExecutionRow).id, error });
        return;
      }
      const half = rows.length >> 1;
      await write(rows.slice(0, half), refused);
      await write(rows.slice(half), refused);
    }
  };

  return async (rows) => {
    const refused: RefusedRow[] = [];
    const fitting = rows.filter((row) => {
      const column = executionColumns.find((name) => !fits(name, row[name]));
      if (column === undefined) return true;
      refused.push({
        id: row.id,
        error: new TypeError(`The column ${column} cannot hold a value of type ${typeof row[column]}`),
      });
      return false;
    });
    await write(fitting, refused);
    return refused;
  };
}

/** `pg` would make a text of anything. */
function fits(column: keyof ExecutionRow, value: unknown): boolean {
  return value === null || typeof value === (numberColumns.has(column) ? "number" : "string");
}
