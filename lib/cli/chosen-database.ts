import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { SkillError } from "../errors.js";
import { inspectSqlite } from "../store/inspect.js";
import type { CommandContext, CommonOptions } from "./command.js";

const DEFAULT_FILE = "skills.db";

/** The database that a command works on: `--database`, else `SKILLS_DATABASE`, else `skills.db` in the working directory. */
export function databaseOf({ environment }: CommandContext, { database }: CommonOptions): string {
  return database || environment["SKILLS_DATABASE"] || DEFAULT_FILE;
}

/** The path of the file, or `undefined` for `:memory:` and for what the store takes for a URL. */
export function fileOf(database: string): string | undefined {
  return database === ":memory:" || /^([a-z][a-z0-9+.-]*:\/\/|file:)/i.test(database) ? undefined : resolve(database);
}

/**
 * A misspelt path must not make an empty database, unless `mayMake`, and looking at a database must not change its tables under a server of
 * another version.
 * @throws STORE_INVALID there is no such file, or its tables are of another version
 */
export function requireDatabase(database: string, mayMake = false): void {
  const file = fileOf(database);
  if (file === undefined) return;
  if (!mayMake) requireFile(file);
  else if (!existsSync(file)) return;
  if (inspectSqlite(file).pending.length === 0) return;
  throw new SkillError(
    "STORE_INVALID",
    `The database ${file} is of an older version of express-skills. Run \`express-skills migrate\` when the servers that use it are updated.`,
  );
}

/** @throws STORE_INVALID */
function requireFile(file: string): void {
  if (existsSync(file)) return;
  throw new SkillError(
    "STORE_INVALID",
    `There is no database ${file}. Name one with --database or SKILLS_DATABASE, or make it with \`express-skills migrate\`.`,
  );
}
