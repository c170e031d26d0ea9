import { type MigrationState, migrationState } from "./migrations.js";
import { onConnection } from "./postgres.js";
import { loadPostgres, type PostgresClient } from "./postgres-driver.js";
import { checkDatabase, readApplied } from "./postgres-migrate.js";
import { parsePostgresUrl } from "./postgres-url.js";

const ROUND_TRIPS = 5;

/** What a look at a PostgreSQL database says. */
export interface PostgresState extends MigrationState {
  /** How it is called in messages: its URL without the password. */
  readonly database: string;
  readonly serverVersion: string;
  /** As PostgreSQL counts, 170002 for 17.2. */
  readonly serverVersionNumber: number;
  /** Median of a few round trips. */
  readonly roundTripMs: number;
  /** A standby, or one whose transactions only read by default. */
  readonly isReadOnly: boolean;
  /** Whether the role may make tables where they belong. */
  readonly mayCreateTables: boolean;
  readonly isEncrypted: boolean;
  /** Whether the server is on this machine. */
  readonly isLocal: boolean;
  /** Connections that the server gives to ordinary roles, and those that one process here may take. */
  readonly maxConnections: number;
  readonly wantedConnections: number;
}

/**
 * Looks at a PostgreSQL database without changing anything in it.
 * @throws INVALID_OPTION STORE_DRIVER_UNAVAILABLE STORE_UNAVAILABLE STORE_INVALID as `openPostgres`
 */
export async function inspectPostgres(url: string, load?: () => Promise<unknown>): Promise<PostgresState> {
  const target = parsePostgresUrl(url);
  const driver = await loadPostgres(load);
  return onConnection(target, driver, async (client) => {
    await checkDatabase(client);
    const { rows } = await client.query({ text: FACTS });
    const facts = rows[0] ?? {};
    return {
      ...migrationState(await readApplied(client)),
      database: target.description,
      serverVersion: String(facts["version"]),
      serverVersionNumber: Number(facts["number"]),
      roundTripMs: await measureRoundTrip(client),
      isReadOnly: facts["read_only"] === 1,
      mayCreateTables: facts["may_create"] === 1,
      isEncrypted: facts["encrypted"] === 1,
      isLocal: facts["local"] === 1,
      maxConnections: Number(facts["max_connections"]),
      // The one besides the pool listens for changes.
      wantedConnections: target.poolSize + 1,
    };
  });
}

/** Integers, because of the other types the connection gives the text. */
const FACTS = `select
  current_setting('server_version') as version,
  current_setting('server_version_num')::int as number,
  (current_setting('transaction_read_only') = 'on')::int as read_only,
  has_schema_privilege(current_schema(), 'create')::int as may_create,
  coalesce((select ssl from pg_catalog.pg_stat_ssl where pid = pg_backend_pid()), false)::int as encrypted,
  coalesce(inet_server_addr() = inet_client_addr(), true)::int as local,
  current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int as max_connections`;

async function measureRoundTrip(client: PostgresClient): Promise<number> {
  const tookMs: number[] = [];
  for (let turn = 0; turn < ROUND_TRIPS; turn++) {
    const startedAtMs = performance.now();
    await client.query({ text: "select 1" });
    tookMs.push(performance.now() - startedAtMs);
  }
  return tookMs.sort((a, b) => a - b)[ROUND_TRIPS >> 1] ?? 0;
}
