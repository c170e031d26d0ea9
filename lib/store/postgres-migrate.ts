import { type CompiledQuery, Kysely, PostgresAdapter, PostgresIntrospector } from "kysely";
import { SkillError } from "../errors.js";
import { isComplete, MIGRATION_TABLE, migrations } from "./migrations.js";
import type { PostgresClient } from "./postgres-driver.js";
import { ByteOrderCompiler } from "./postgres-query.js";

/**
 * Brings a database to this version's tables, in the first schema of the connection's search path. The connection must not be used by
 * anyone else until this has ended. Any number of processes may do it at the same time: one does the work, the others wait for it. Gives
 * the schema.
 * @throws STORE_INVALID the database belongs to a newer version of this package, or cannot hold its tables
 */
export async function migratePostgres(client: PostgresClient): Promise<string> {
  const schema = await checkDatabase(client);
  if (isComplete(await readApplied(client))) return schema;
  await client.query({ text: "begin" });
  try {
    // A large table may take longer than what a call may take.
    await client.query({ text: "set local statement_timeout = 0" });
    await client.query({ text: "select pg_advisory_xact_lock(hashtext('express-skills'), hashtext(current_schema()))" });
    // Another process, perhaps of a newer version, may have had the lock before.
    const applied = await readApplied(client);
    if (!isComplete(applied)) await applyMissing(client, applied);
    await client.query({ text: "commit" });
    return schema;
  } catch (error) {
    await client.query({ text: "rollback" }).catch(() => {});
    throw error;
  }
}

/** Gives the schema that the tables are in. @throws STORE_INVALID the database cannot hold them */
export async function checkDatabase(client: PostgresClient): Promise<string> {
  const { rows } = await client.query({
    text: "select current_schema() as schema, current_setting('server_encoding') as encoding",
  });
  const { schema, encoding } = rows[0] ?? {};
  if (schema === null)
    throw new SkillError("STORE_INVALID", "No schema of the database's search_path exists. Create it, or change search_path.");
  if (encoding !== "UTF8")
    throw new SkillError("STORE_INVALID", `The database's encoding is ${encoding}. Use one that was created with encoding UTF8.`);
  return String(schema);
}

/** Names of the migrations that were applied. Looked at without a lock, so that a process starts while another one is writing. */
export async function readApplied(client: PostgresClient): Promise<readonly string[]> {
  // Not `to_regclass()`: within a transaction that remembers what was missing before another process made it.
  const text = "select 1 from pg_catalog.pg_class where relname = $1 and pg_catalog.pg_table_is_visible(oid)";
  if ((await client.query({ text, values: [MIGRATION_TABLE] })).rows.length === 0) return [];
  return (await client.query({ text: `select name from ${MIGRATION_TABLE}` })).rows.map(({ name }) => String(name));
}

/** Kysely's own migrator would take a table of the same name in any other schema for this one. */
async function applyMissing(client: PostgresClient, applied: readonly string[]): Promise<void> {
  const database = schemaBuilderOn(client);
  await client.query({
    text: `create table if not exists ${MIGRATION_TABLE} (name varchar(255) primary key, timestamp varchar(255) not null)`,
  });
  for (const name of Object.keys(migrations).sort()) {
    if (applied.includes(name)) continue;
    await migrations[name]?.up(database);
    const values = [name, new Date().toISOString()];
    await client.query({ text: `insert into ${MIGRATION_TABLE} (name, timestamp) values ($1, $2)`, values });
  }
}

function schemaBuilderOn(client: PostgresClient): Kysely<unknown> {
  const connection = {
    async executeQuery<Row>({ sql, parameters }: CompiledQuery): Promise<{ rows: Row[] }> {
      return { rows: (await client.query({ text: sql, values: parameters })).rows as Row[] };
    },
    streamQuery(): AsyncIterableIterator<never> {
      throw new Error("Migrations do not stream");
    },
  };
  return new Kysely<unknown>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createIntrospector: (database) => new PostgresIntrospector(database),
      createQueryCompiler: () => new ByteOrderCompiler(),
      // The transaction around all migrations is this file's, not Kysely's.
      createDriver: () => ({
        init: async () => {},
        acquireConnection: async () => connection,
        beginTransaction: async () => {},
        commitTransaction: async () => {},
        rollbackTransaction: async () => {},
        releaseConnection: async () => {},
        destroy: async () => {},
      }),
    },
  });
}
