import { loadOptionalPeer } from "./optional-peer.js";

/** The part of the package `pg` (version 8) that this room uses. */
export interface PostgresDriver {
  readonly Pool: new (config: PostgresConfig & PoolSize) => PostgresPool;
  readonly Client: new (config: PostgresConfig) => PostgresClient;
}

export interface PostgresPool {
  connect(): Promise<PostgresClient & { release(error?: Error | boolean): void }>;
  query(query: PostgresQuery): Promise<PostgresResult>;
  end(): Promise<void>;
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "connect" | "acquire", listener: (client: PostgresClient) => void): unknown;
  on(event: "release", listener: (error: unknown, client: PostgresClient) => void): unknown;
}

export interface PostgresClient {
  connect(): Promise<unknown>;
  query(query: PostgresQuery): Promise<PostgresResult>;
  end(): Promise<void>;
  /** From now on its connection alone does not keep the process running. */
  unref(): void;
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "end", listener: () => void): unknown;
  on(event: "notification", listener: (message: { readonly channel: string; readonly payload?: string }) => void): unknown;
}

export interface PostgresQuery {
  /** The server keeps the plan of a statement that has one. */
  readonly name?: string;
  readonly text: string;
  readonly values?: readonly unknown[];
}

export interface PostgresResult {
  readonly rows: readonly Record<string, unknown>[];
  readonly rowCount: number | null;
}

/** What is left out, `pg` takes from the variables that PostgreSQL's own clients read (PGHOST, PGPASSWORD, …). */
export interface PostgresConfig {
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  readonly user?: string | undefined;
  readonly password?: string | undefined;
  readonly database?: string | undefined;
  readonly ssl?: boolean | PostgresTls | undefined;
  readonly enableChannelBinding?: boolean | undefined;
  readonly application_name?: string | undefined;
  readonly fallback_application_name?: string | undefined;
  readonly options?: string | undefined;
  /** Milliseconds after which the server ends a statement; `undefined` for no limit. */
  readonly statement_timeout?: number | undefined;
  /** Milliseconds after which a connection that does not answer is given up. */
  readonly query_timeout?: number | undefined;
  readonly connectionTimeoutMillis: number;
  readonly keepAlive: boolean;
  readonly types?: { getTypeParser(oid: number): (value: string) => unknown };
}

export interface PostgresTls {
  readonly rejectUnauthorized: boolean;
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  readonly checkServerIdentity?: (() => undefined) | undefined;
}

export interface PoolSize {
  readonly max: number;
  readonly idleTimeoutMillis: number;
  readonly allowExitOnIdle: boolean;
}

/** @throws STORE_DRIVER_UNAVAILABLE */
export async function loadPostgres(load: () => Promise<unknown> = () => import("pg")): Promise<PostgresDriver> {
  const peer = { name: "pg", range: "8", use: "A postgres:// database" };
  const loaded = (await loadOptionalPeer(peer, load)) as PostgresDriver & { readonly default?: PostgresDriver };
  return loaded.default ?? loaded;
}
