import { SkillError } from "../errors.js";
import { betterSqlite3 } from "./better-sqlite3.js";
import type { SqliteDriver, SqliteDriverLoader } from "./driver.js";
import { nodeSqlite } from "./node-sqlite.js";

export const sqliteDriverLoaders: readonly SqliteDriverLoader[] = Object.freeze([betterSqlite3, nodeSqlite]);

/**
 * The first driver that works.
 * @throws STORE_DRIVER_UNAVAILABLE names each one that was tried, why it failed, and what cures it
 */
export function loadSqliteDriver(loaders: readonly SqliteDriverLoader[] = sqliteDriverLoaders): SqliteDriver {
  const failures: { readonly name: string; readonly error: unknown }[] = [];
  for (const loader of loaders) {
    try {
      return loader.load();
    } catch (error) {
      failures.push({ name: loader.name, error });
    }
  }
  const tried = failures.map(({ name, error }) => `${name} (${shorten(error)})`).join(", ");
  throw new SkillError("STORE_DRIVER_UNAVAILABLE", `No SQLite driver works here. Tried: ${tried}. ${cure}`, {
    cause: new AggregateError(
      failures.map(({ error }) => error),
      "Every SQLite driver failed to load",
    ),
  });
}

const cure =
  "Run `npm install better-sqlite3`; if it is installed, its native part is missing: run `npm rebuild better-sqlite3`, and where npm " +
  "blocks install scripts (npm 12 does) allow them first with `npm approve-scripts better-sqlite3`. Or use Node 22.13 or later, which " +
  "has a driver of its own.";

/** The messages of module loading go on for pages. */
function shorten(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.replaceAll(/\s+/g, " ").slice(0, 200).trim();
}
