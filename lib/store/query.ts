import { type CompiledQuery, DummyDriver, Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from "kysely";
import type { Tables } from "./rows.js";
import type { Operation } from "./store.js";

/**
 * Types and compiles queries; it runs none. The text is SQLite's. Each compiled query keeps its tree in `query`, from which another
 * database compiles its own text, so an operation uses only what the builder can say for every database.
 */
export const db = new Kysely<Tables>({
  dialect: {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (database) => new SqliteIntrospector(database),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  },
});

interface Query<Row> {
  compile(): CompiledQuery<Row>;
}

/** Every row of a query. */
export function* all<Row>(query: Query<Row>): Operation<Row[]> {
  const answer = yield query.compile();
  return answer.rows as Row[];
}

/** The first row of a query that should limit itself to one. */
export function* first<Row>(query: Query<Row>): Operation<Row | undefined> {
  const answer = yield query.compile();
  return answer.rows[0] as Row | undefined;
}

/** Runs a query for its effect; gives the number of rows changed. */
export function* run(query: Query<unknown>): Operation<number> {
  const answer = yield query.compile();
  return answer.changes;
}

/** Whether the database answers this query with rows, as bindings want to be told beforehand. */
export function returnsRows(query: CompiledQuery): boolean {
  const tree = query.query;
  return tree.kind === "SelectQueryNode" || ("returning" in tree && tree.returning !== undefined);
}
