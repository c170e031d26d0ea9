import { SkillError } from "../errors.js";
import { openSqlite } from "./sqlite.js";
import type { Store, StoreConfig } from "./store.js";

/**
 * Opens the database that `config.database` names: an SQLite file or `:memory:`.
 * @throws INVALID_OPTION it names something else
 * @throws STORE_DRIVER_UNAVAILABLE, STORE_UNAVAILABLE, STORE_INVALID as `openSqlite`
 */
export async function openStore(config: StoreConfig): Promise<Store> {
  const { database } = config;
  if (typeof database !== "string" || database.trim() === "" || database.includes("\0")) {
    throw new SkillError("INVALID_OPTION", 'The option "database" must be the path of an SQLite file, or ":memory:".');
  }
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(database)?.[1] ?? /^(file):/i.exec(database)?.[1];
  if (scheme !== undefined) {
    // The URL itself may carry a password.
    throw new SkillError(
      "INVALID_OPTION",
      `The option "database" is a ${scheme}: URL; this version supports paths of SQLite files and ":memory:" only.`,
    );
  }
  return openSqlite(config);
}
