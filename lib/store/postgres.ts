import { retryWhileBusy } from "./patience.js";
import { loadPostgres, type PostgresClient, type PostgresDriver } from "./postgres-driver.js";
import { postgresFault, toOpenError } from "./postgres-errors.js";
import { createJobs } from "./postgres-jobs.js";
import { migratePostgres } from "./postgres-migrate.js";
import { createPostgresStore } from "./postgres-store.js";
import { type PostgresTarget, parsePostgresUrl } from "./postgres-url.js";
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
  const target = parsePostgresUrl(config.database, config.durability);
  const driver = await loadPostgres(load);
  const schema = await onConnection(target, driver, migratePostgres);
  const { description, client, poolSize } = target;
  const { Pool, Client } = driver;
  const pool = new Pool({ ...client, max: poolSize, idleTimeoutMillis: idleTimeoutMs, allowExitOnIdle: true });
  return createPostgresStore({
    pool,
    createClient: () => new Client(client),
    description,
    jobs: createJobs(driver, target, schema),
  });
}

/**
 * Does work on a connection of its own, outside any pool. While the server starts, or has no connection left, it is tried again.
 * @throws STORE_UNAVAILABLE, STORE_INVALID as `openPostgres`
 */
export async function onConnection<T>(
  { client, description }: PostgresTarget,
  { Client }: PostgresDriver,
  work: (client: PostgresClient) => Promise<T>,
): Promise<T> {
  try {
    return await retryWhileBusy(
      () => connectFor(new Client(client), work),
      openLimitMs,
      (error) => postgresFault(error) === "busy",
    );
  } catch (error) {
    throw toOpenError(error, description);
  }
}

async function connectFor<T>(client: PostgresClient, work: (client: PostgresClient) => Promise<T>): Promise<T> {
  // An error without a listener would end the process; what it means is told by the query that it breaks.
  client.on("error", () => {});
  try {
    await client.connect();
    return await work(client);
  } finally {
    await client.end().catch(() => {});
  }
}
