import type { PostgresClient, PostgresPool } from "./postgres-driver.js";

/** How long closing waits for statements that run. */
const closeLimitMs = 2_000;

/** The clients that are at work, kept up to date; none of them can end the process by an error. */
export function watchClients(pool: PostgresPool): ReadonlySet<PostgresClient> {
  const inUse = new Set<PostgresClient>();
  // An error without a listener would end the process; the pool takes such a client out, and whoever uses it hears of it from its query.
  pool.on("error", () => {});
  pool.on("connect", (client) => void client.on("error", () => {}));
  pool.on("acquire", (client) => void inUse.add(client));
  pool.on("release", (_, client) => void inUse.delete(client));
  return inUse;
}

/** Waits for statements that run, but not for long: after that their connections are cut. */
export async function closePool(pool: PostgresPool, inUse: ReadonlySet<PostgresClient>): Promise<void> {
  const end = () => {
    // Ending a client cuts its connection when a statement runs on it.
    for (const client of inUse) void client.end().catch(() => {});
  };
  const timer = setTimeout(end, closeLimitMs);
  try {
    await pool.end();
  } finally {
    clearTimeout(timer);
  }
}

type Release = (error?: Error | boolean) => void;
type OnConnect = (error: Error | undefined, client: PostgresClient | undefined, release: Release) => void;
interface CallbackPool {
  connect(callback?: OnConnect): unknown;
}

/**
 * Lets a client that was handed to a callback be released twice. graphile-worker 0.17 does that with the one that listens, when its
 * connection breaks in the moment in which the worker stops; the error of the second time would end the process.
 */
export function allowSecondRelease(pool: PostgresPool): void {
  const loose = pool as unknown as CallbackPool;
  const connect = loose.connect.bind(pool);
  loose.connect = (callback) => {
    if (callback === undefined) return connect();
    return connect((error, client, release) => {
      let isReleased = false;
      callback(error, client, (broken) => {
        if (isReleased) return;
        isReleased = true;
        release(broken);
      });
    });
  };
}
