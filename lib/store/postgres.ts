import { retryWhileBusy } from "./patience.js";
import { loadPostgres, type PostgresClient } from "./postgres-driver.js";
import { postgresFault, toOpenError } from "./postgres-errors.js";
import { migratePostgres } from "./postgres-migrate.js";
import { createPostgresStore } from "./postgres-store.js";
import { parsePostgresUrl } from "./postgres-url.js";
import type { Store, StoreConfig } from "./store.js";

/** How long an opening waits for a server that starts, or that has no connection left. */
const openLimitMs = 5_000;
/** How long the pool keeps a connection that nobody uses. */
const idleTimeoutMs = 30_000;

/**
 * Opens a PostgreSQL database by its URL, and brings its tables up to date.
 * @param load imports the package `pg`
 * @throws INVALID_OPTION the URL is malformed
 * @throws STORE_DRIVER_UNAVAILABLE `pg` is not installed
 * @throws STORE_UNAVAILABLE it cannot be reached now
 * @throws STORE_INVALID no such database, no permission, or made by a newer version
 */
export async function openPostgres(config: StoreConfig, load?: () => Promise<unknown>): Promise<Store> {
  const { description, client, poolSize } = parsePostgresUrl(config.database, config.durability);
  const { Pool, Client } = await loadPostgres(load);
  try {
    await retryWhileBusy(
      () => prepare(new Client(client)),
      openLimitMs,
      (error) => postgresFault(error) === "busy",
    );
  } catch (error) {
    throw toOpenError(error, description);
  }
  const pool = new Pool({ ...client, max: poolSize, idleTimeoutMillis: idleTimeoutMs, allowExitOnIdle: true });
  return createPostgresStore({ pool, createClient: () => new Client(client), description });
}

async function prepare(client: PostgresClient): Promise<void> {
  // An error without a listener would end the process; what it means is told by the query that it breaks.
  client.on("error", () => {});
  try {
    await client.connect();
    await migratePostgres(client);
  } finally {
    await client.end().catch(() => {});
  }
}
