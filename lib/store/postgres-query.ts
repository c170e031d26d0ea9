import { type CompiledQuery, type DataTypeNode, PostgresQueryCompiler } from "kysely";
import type { PostgresQuery } from "./postgres-driver.js";

/** PostgreSQL's text of a query, made from the tree that its SQLite text was made of. */
export function toPostgres({ query, queryId }: CompiledQuery): PostgresQuery {
  const { sql, parameters } = compiler.compileQuery(query, queryId);
  return { text: sql, values: parameters.map(storable) };
}

/**
 * Makes the text of a query once, with blanks in the places of its values; gives what fills them in. The server plans it once for each
 * connection: name its columns, since a plan that gives all of a table's is refused once the table has more.
 * @param name of this text alone
 */
export function prepare<Values>(
  name: string,
  make: (blank: <T>(fill: (values: Values) => T) => T) => CompiledQuery,
): (values: Values) => PostgresQuery {
  const { text, values: places = [] } = toPostgres(make((fill) => new Blank(fill) as never));
  return (values) => ({
    name,
    text,
    values: places.map((place) => (place instanceof Blank ? storable(place.fill(values)) : place)),
  });
}

class Blank<Values> {
  readonly fill: (values: Values) => unknown;

  constructor(fill: (values: Values) => unknown) {
    this.fill = fill;
  }
}

/**
 * PostgreSQL's text holds no NUL. No id contains a control character, so one with a NUL is looked up as another that nobody has; other
 * texts are stored without theirs.
 */
export function storable(value: unknown): unknown {
  return typeof value === "string" && value.includes("\0") ? value.replaceAll("\0", "\u0001") : value;
}

/** Text is compared and sorted by its bytes, as on SQLite, whatever the language of the database is. */
export class ByteOrderCompiler extends PostgresQueryCompiler {
  protected override visitDataType(node: DataTypeNode): void {
    super.visitDataType(node);
    if (node.dataType === "text") this.append(' collate "C"');
  }
}

const compiler = new PostgresQueryCompiler();
