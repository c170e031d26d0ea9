import { type Kysely, type Migration, sql } from "kysely";
import { SkillError } from "../errors.js";

/** Not Kysely's default name: the database may also be the application's, with migrations of its own. */
export const MIGRATION_TABLE = "skills_migrations";

/**
 * Every migration, by name; they run in the order of their names. A released one never changes. Statements must work on every
 * database: plain types, times and JSON as text, booleans as integers.
 */
export const migrations: Readonly<Record<string, Migration>> = Object.freeze({
  "0001_foundation": { up: foundation },
  "0002_containers": { up: containers },
  "0003_queue": { up: queue },
  "0004_feed": { up: feed },
});

/**
 * Whether a database on which these were applied is up to date.
 * @throws STORE_INVALID it belongs to a newer version of this package
 */
export function isComplete(applied: readonly string[]): boolean {
  const newer = applied.filter((name) => !Object.hasOwn(migrations, name));
  if (newer.length > 0) {
    throw new SkillError(
      "STORE_INVALID",
      `The database was changed by a newer version of express-skills (${newer.join(", ")}), which this version cannot work with. ` +
        "Update express-skills here, or use another database.",
    );
  }
  return applied.length === Object.keys(migrations).length;
}

/** Which migrations a database has, in the order of their names. */
export interface MigrationState {
  readonly applied: readonly string[];
  /** Of this version, and not applied. */
  readonly pending: readonly string[];
  /** Applied, and of a newer version. */
  readonly newer: readonly string[];
}

/** What this version makes of the names that a database has in its table of migrations. */
export function migrationState(names: readonly string[]): MigrationState {
  const known = Object.keys(migrations).sort();
  const applied = [...names].sort();
  return {
    applied,
    pending: known.filter((name) => !applied.includes(name)),
    newer: applied.filter((name) => !known.includes(name)),
  };
}

async function foundation(database: Kysely<unknown>): Promise<void> {
  await createSkills(database);
  await createExecutions(database);
  await createInstances(database);
}

async function createSkills(database: Kysely<unknown>): Promise<void> {
  await database.schema
    .createTable("skills")
    .addColumn("id", "text", (column) => column.primaryKey().notNull())
    .addColumn("api_key_id", "text", (column) => column.notNull())
    .addColumn("name", "text", (column) => column.notNull())
    .addColumn("version", "text", (column) => column.notNull())
    .addColumn("description", "text", (column) => column.notNull())
    .addColumn("enabled", "integer", (column) => column.notNull())
    .addColumn("mode", "text", (column) => column.notNull())
    .addColumn("tags", "text", (column) => column.notNull())
    .addColumn("source_provider", "text")
    .addColumn("content", "text", (column) => column.notNull())
    .addColumn("content_hash", "text", (column) => column.notNull())
    .addColumn("revision", "integer", (column) => column.notNull())
    .addColumn("created_at", "text", (column) => column.notNull())
    .addColumn("updated_at", "text", (column) => column.notNull())
    .addColumn("deleted_at", "text")
    .addUniqueConstraint("skills_version", ["api_key_id", "name", "version"])
    .execute();
  // A refresh asks for what changed after a revision; without this it would read every skill each time.
  await database.schema.createIndex("skills_revision").on("skills").column("revision").execute();
  await database.schema
    .createTable("catalogue")
    .addColumn("id", "integer", (column) => column.primaryKey().notNull())
    .addColumn("revision", "integer", (column) => column.notNull())
    .execute();
  await sql`insert into catalogue (id, revision) values (1, 0)`.execute(database);
  await database.schema
    .createTable("settings")
    .addColumn("key", "text", (column) => column.primaryKey().notNull())
    .addColumn("value", "text", (column) => column.notNull())
    .execute();
}

async function createExecutions(database: Kysely<unknown>): Promise<void> {
  await database.schema
    .createTable("skill_executions")
    .addColumn("id", "text", (column) => column.primaryKey().notNull())
    .addColumn("skill_id", "text")
    .addColumn("skill_name", "text", (column) => column.notNull())
    .addColumn("skill_version", "text", (column) => column.notNull())
    .addColumn("api_key_id", "text", (column) => column.notNull())
    .addColumn("session_id", "text")
    .addColumn("request_id", "text")
    .addColumn("parent_id", "text")
    .addColumn("root_id", "text", (column) => column.notNull())
    .addColumn("instance_id", "text", (column) => column.notNull())
    .addColumn("status", "text", (column) => column.notNull())
    .addColumn("input", "text")
    .addColumn("input_state", "text", (column) => column.notNull())
    .addColumn("output", "text")
    .addColumn("output_state", "text", (column) => column.notNull())
    .addColumn("error_code", "text")
    .addColumn("error_message", "text")
    .addColumn("attempts", "integer", (column) => column.notNull())
    .addColumn("duration_ms", "double precision")
    .addColumn("idempotency_key", "text")
    .addColumn("request_hash", "text")
    .addColumn("created_at", "text", (column) => column.notNull())
    .addColumn("finished_at", "text")
    .execute();
  await createExecutionIndexes(database);
}

/**
 * Each index is written by every call that it covers, so the ones that can are partial. Ids carry their time (UUIDv7), so no index over
 * `created_at` is needed: "newest first", "before" and pruning all go by id.
 */
async function createExecutionIndexes(database: Kysely<unknown>): Promise<void> {
  const on = (name: string) => database.schema.createIndex(name).on("skill_executions");
  // A caller lists its own executions, newest first.
  await on("skill_executions_owner").columns(["api_key_id", "id"]).execute();
  // An operator lists the executions of a skill, whoever called it, newest first.
  await on("skill_executions_skill").columns(["skill_name", "id"]).execute();
  // The tree of a call. Only nested calls are in them; the root is found by its own id.
  await on("skill_executions_root").column("root_id").where(sql.ref("parent_id"), "is not", null).execute();
  await on("skill_executions_parent").column("parent_id").where(sql.ref("parent_id"), "is not", null).execute();
  // What a dead instance was running: never more rows than are in work.
  await on("skill_executions_unfinished")
    .column("instance_id")
    .where(sql.ref("status"), "in", sql`('QUEUED', 'RUNNING')`)
    .execute();
  // A caller's key stands for one execution.
  await on("skill_executions_idempotency")
    .unique()
    .columns(["api_key_id", "idempotency_key"])
    .where(sql.ref("idempotency_key"), "is not", null)
    .execute();
}

async function createInstances(database: Kysely<unknown>): Promise<void> {
  await database.schema
    .createTable("instances")
    .addColumn("id", "text", (column) => column.primaryKey().notNull())
    .addColumn("host", "text", (column) => column.notNull())
    .addColumn("pid", "integer", (column) => column.notNull())
    .addColumn("started_at", "text", (column) => column.notNull())
    .addColumn("heartbeat_at", "text", (column) => column.notNull())
    .execute();
}

async function containers(database: Kysely<unknown>): Promise<void> {
  // SQLite takes one column at a time.
  for (const column of ["sandbox", "log"])
    await database.schema.alterTable("skill_executions").addColumn(column, "text").execute();
}

async function queue(database: Kysely<unknown>): Promise<void> {
  await database.schema
    .createTable("queued_work")
    .addColumn("id", "text", (column) => column.primaryKey().notNull())
    .addColumn("api_key_id", "text", (column) => column.notNull())
    .addColumn("session_id", "text")
    .addColumn("request_id", "text")
    .addColumn("skill_id", "text", (column) => column.notNull())
    .addColumn("skill_owner", "text", (column) => column.notNull())
    .addColumn("skill_name", "text", (column) => column.notNull())
    .addColumn("skill_version", "text", (column) => column.notNull())
    .addColumn("handler", "text")
    .addColumn("input", "text", (column) => column.notNull())
    .addColumn("timeout_ms", "integer")
    .addColumn("state", "text", (column) => column.notNull())
    .addColumn("run_at", "text", (column) => column.notNull())
    .addColumn("priority", "integer", (column) => column.notNull())
    .addColumn("job_key", "text")
    .addColumn("instance_id", "text")
    .addColumn("takes", "integer", (column) => column.notNull())
    .addColumn("idempotent", "integer", (column) => column.notNull())
    .addColumn("created_at", "text", (column) => column.notNull())
    .execute();
  const on = (name: string) => database.schema.createIndex(name).on("queued_work");
  // What is due, in the order in which it is taken: however much waits for later, a look at the queue does not read it.
  await on("queued_work_due").columns(["state", "priority", "run_at", "id"]).execute();
  await on("queued_work_later").columns(["state", "run_at"]).execute();
  await on("queued_work_skill").column("skill_id").execute();
  await on("queued_work_key").unique().columns(["api_key_id", "job_key"]).where(sql.ref("job_key"), "is not", null).execute();
  await on("queued_work_instance").column("instance_id").where(sql.ref("instance_id"), "is not", null).execute();
  await database.schema
    .createTable("job_pools")
    .addColumn("id", "text", (column) => column.primaryKey().notNull())
    .addColumn("instance_id", "text", (column) => column.notNull())
    .execute();
  await database.schema
    .createTable("cancel_requests")
    .addColumn("execution_id", "text", (column) => column.primaryKey().notNull())
    .addColumn("instance_id", "text", (column) => column.notNull())
    .addColumn("requested_at", "text", (column) => column.notNull())
    .execute();
  await database.schema.createIndex("cancel_requests_instance").on("cancel_requests").column("instance_id").execute();
  await database.schema
    .createTable("execution_traces")
    .addColumn("execution_id", "text", (column) => column.primaryKey().notNull())
    .addColumn("trace", "text", (column) => column.notNull())
    .addColumn("updated_at", "text", (column) => column.notNull())
    .execute();
}

/** What ended lately, for those that follow the executions of every process. Written once by each call, at its end. */
async function feed(database: Kysely<unknown>): Promise<void> {
  await database.schema
    .createIndex("skill_executions_finished")
    .on("skill_executions")
    .column("finished_at")
    .where(sql.ref("finished_at"), "is not", null)
    .execute();
}
