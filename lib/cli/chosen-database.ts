import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { SkillError } from "../errors.js";
import { inspectSqlite } from "../store/inspect.js";
import { type MigrationState, migrationState } from "../store/migrations.js";
import { inspectPostgres } from "../store/postgres-inspect.js";
import { isPostgresUrl } from "../store/postgres-url.js";
import type { CommandContext, CommonOptions } from "./command.js";

const DEFAULT_FILE = "skills.db";

/** The database that a command works on: `--database`, else `SKILLS_DATABASE`, else `skills.db` in the working directory. */
export function databaseOf({ environment }: CommandContext, { database }: CommonOptions): string {
  return database || environment["SKILLS_DATABASE"] || DEFAULT_FILE;
}

/** The path of the file, or `undefined` for `:memory:` and for what the store takes for a URL. */
export function fileOf(database: string): string | undefined {
  return database === ":memory:" || /^([a-z][a-z0-9+.-]*:\/\/|file:)/i.test(database.trim()) ? undefined : resolve(database);
}

/** What a look at a database says, which changes nothing. */
export interface DatabaseState extends MigrationState {
  /** How it is called in what is printed: a path, or a URL without its password. */
  readonly name: string;
  /** Whether there is a file, or a table of this package. */
  readonly isThere: boolean;
}

/**
 * Nothing is applied where there is no such file, or no table of this package.
 * @throws STORE_DRIVER_UNAVAILABLE STORE_UNAVAILABLE STORE_INVALID, and INVALID_OPTION for a malformed URL
 */
export async function lookAt(database: string): Promise<DatabaseState> {
  if (isPostgresUrl(database)) {
    const state = await inspectPostgres(database);
    return { ...state, name: state.database, isThere: state.applied.length > 0 };
  }
  const file = fileOf(database);
  const isThere = file !== undefined && existsSync(file);
  return { ...(isThere ? inspectSqlite(file) : migrationState([])), name: file ?? database, isThere };
}

/**
 * A misspelt name must not make an empty database, unless `mayMake`, and looking at a database must not change its tables under a server of
 * another version.
 * @throws STORE_INVALID there is no such database, or its tables are of another version
 */
export async function requireDatabase(database: string, mayMake = false): Promise<void> {
  const isUrl = isPostgresUrl(database);
  // What is neither is in memory, or refused when it is opened.
  if (!isUrl && fileOf(database) === undefined) return;
  const { name, isThere, pending } = await lookAt(database);
  if (isThere ? pending.length === 0 : mayMake) return;
  if (!isThere) {
    const what = isUrl ? `The database ${name} has no tables of express-skills` : `There is no database ${name}`;
    const cure = "Name one with --database or SKILLS_DATABASE, or make it with `express-skills migrate`.";
    throw new SkillError("STORE_INVALID", `${what}. ${cure}`);
  }
  throw new SkillError(
    "STORE_INVALID",
    `The database ${name} is of an older version of express-skills. Run \`express-skills migrate\` when the servers that use it are updated.`,
  );
}
