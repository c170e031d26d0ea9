import pg from "pg";
import type { PostgresClient, PostgresQuery } from "../../lib/store/postgres-driver.js";
import { migratePostgres } from "../../lib/store/postgres-migrate.js";

/**
 * The statements with which the migrations make the tables, as one text: a test that only needs a database that is up to date gets it in one
 * round trip.
 */
export async function recordTables(url: string): Promise<string> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const schema = `skills_recorded_${process.pid}`;
    await client.query(`create schema ${schema}; set search_path = ${schema}`);
    const statements: string[] = [];
    const query = (asked: PostgresQuery) => {
      if (/^(create|alter|insert)/.test(asked.text)) statements.push(inline(asked));
      return client.query(asked.text, asked.values as unknown[]);
    };
    await migratePostgres({ query } as unknown as PostgresClient);
    await client.query(`drop schema ${schema} cascade`);
    return statements.join(";\n");
  } finally {
    await client.end();
  }
}

function inline({ text, values = [] }: PostgresQuery): string {
  return text.replace(/\$(\d+)/g, (_, place) => pg.escapeLiteral(String(values[Number(place) - 1])));
}
