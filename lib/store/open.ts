import { SkillError } from "../errors.js";
import { openPostgres } from "./postgres.js";
import { isPostgresUrl } from "./postgres-url.js";
import { openSqlite } from "./sqlite.js";
import type { Store, StoreConfig } from "./store.js";

/**
 * Opens the database that `config.database` names: an SQLite file, `:memory:`, or a `postgres://` or `postgresql://` URL.
 * @throws INVALID_OPTION it names something else
 * @throws STORE_DRIVER_UNAVAILABLE, STORE_UNAVAILABLE, STORE_INVALID as `openSqlite` and `openPostgres`
 */
export async function openStore(config: StoreConfig): Promise<Store> {
  const { database } = config;
  if (typeof database !== "string" || database.trim() === "" || database.includes("\0")) {
    throw new SkillError(
      "INVALID_OPTION",
      'The option "database" must be the path of an SQLite file, ":memory:", or a postgres:// URL.',
    );
  }
  if (isPostgresUrl(database)) return openPostgres(config);
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(database)?.[1] ?? /^(file|postgres|postgresql):/i.exec(database)?.[1];
  if (scheme !== undefined) {
    // The URL itself may carry a password.
    throw new SkillError(
      "INVALID_OPTION",
      `The option "database" is a ${scheme}: URL; what is supported are paths of SQLite files, ":memory:" and postgres:// URLs.`,
    );
  }
  return openSqlite(config);
}
