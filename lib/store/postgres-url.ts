import { SkillError } from "../errors.js";
import { suggestion } from "../nearest.js";
import type { PostgresConfig } from "./postgres-driver.js";
import { readTls, type TlsParameters } from "./postgres-tls.js";

/** How a PostgreSQL database is reached. */
export interface PostgresTarget {
  /** For messages and logs: without the password, and without the parameters, which may hold another one. */
  readonly description: string;
  readonly client: PostgresConfig;
  readonly poolSize: number;
}

const DEFAULT_POOL_SIZE = 10;
const MAX_POOL_SIZE = 1_000;
const DEFAULT_STATEMENT_TIMEOUT_MS = 30_000;
const MAX_STATEMENT_TIMEOUT_MS = 2_147_483_647;
const DEFAULT_CONNECT_TIMEOUT_S = 5;
const MAX_CONNECT_TIMEOUT_S = 3_600;
/** How much longer than the server's own limit a connection is waited for, before it is taken for dead. */
const ANSWER_MARGIN_MS = 5_000;

const PARAMETERS = [
  "pool_size",
  "statement_timeout",
  "connect_timeout",
  "sslmode",
  "sslrootcert",
  "sslcert",
  "sslkey",
  "channel_binding",
  "application_name",
  "options",
  "host",
  "port",
  "user",
  "password",
  "dbname",
] as const;
type Parameters = Partial<Record<(typeof PARAMETERS)[number], string>>;

export function isPostgresUrl(database: string): boolean {
  return /^postgres(ql)?:\/\//i.test(database.trim());
}

/**
 * Reads a `postgres://` or `postgresql://` URL, whose parameters have the names and meanings of libpq, and `pool_size` and
 * `statement_timeout` (milliseconds, 0 for none) besides.
 * @throws INVALID_OPTION without repeating what the URL says, which may be a password
 */
export function parsePostgresUrl(text: string, durability: "process" | "power" = "process"): PostgresTarget {
  const url = parseUrl(text.trim());
  const parameters = readParameters(url.searchParams);
  const host = decoded(url.hostname.replace(/^\[(.*)\]$/, "$1")) || parameters.host;
  const port = url.port || parameters.port;
  const database = decoded(url.pathname.slice(1)) || parameters.dbname;
  const user = decoded(url.username) || parameters.user;
  const statementTimeoutMs = numberOf(parameters, "statement_timeout", DEFAULT_STATEMENT_TIMEOUT_MS, 0, MAX_STATEMENT_TIMEOUT_MS);
  return {
    description: describe(host, port, database, user),
    poolSize: numberOf(parameters, "pool_size", DEFAULT_POOL_SIZE, 1, MAX_POOL_SIZE),
    client: {
      host,
      port: port === undefined || port === "" ? undefined : numberOf({ port }, "port", 5432, 1, 65_535),
      database,
      user,
      password: decoded(url.password) || parameters.password,
      ssl: readTls(parameters satisfies TlsParameters, invalid),
      enableChannelBinding: parameters.channel_binding === undefined ? undefined : parameters.channel_binding !== "disable",
      application_name: parameters.application_name,
      fallback_application_name: "express-skills",
      options: withDurability(parameters.options, durability),
      statement_timeout: statementTimeoutMs === 0 ? undefined : statementTimeoutMs,
      query_timeout: statementTimeoutMs === 0 ? undefined : statementTimeoutMs + ANSWER_MARGIN_MS,
      connectionTimeoutMillis:
        1_000 * numberOf(parameters, "connect_timeout", DEFAULT_CONNECT_TIMEOUT_S, 1, MAX_CONNECT_TIMEOUT_S),
      keepAlive: true,
      // The application may have changed how `pg` reads values in the whole process.
      types: { getTypeParser: (oid) => (NUMBER_TYPES.has(oid) ? Number : String) },
    },
  };
}

/** int8, int2, int4, float4, float8 */
const NUMBER_TYPES: ReadonlySet<number> = new Set([20, 21, 23, 700, 701]);

function parseUrl(text: string): URL {
  try {
    return new URL(text);
  } catch {
    throw invalid("cannot be read as a URL; in user and password, characters like @ : / # % are written as %40 %3A %2F %23 %25");
  }
}

function readParameters(given: URLSearchParams): Parameters {
  const parameters: Parameters = {};
  for (const [key, value] of given) {
    const known = PARAMETERS.find((name) => name === key);
    if (known === undefined) throw invalid(`has the unknown parameter "${key.slice(0, 40)}"${suggestion(key, PARAMETERS)}`);
    if (parameters[known] !== undefined) throw invalid(`has the parameter ${known} twice`);
    if (value.includes("\0")) throw invalid(`has a zero byte in its parameter ${known}`);
    parameters[known] = value;
  }
  return parameters;
}

function decoded(part: string): string | undefined {
  try {
    const text = decodeURIComponent(part);
    if (text.includes("\0")) throw new URIError();
    return text === "" ? undefined : text;
  } catch {
    throw invalid("has a % in its user, password, host or name that is not the start of an escape; write it as %25");
  }
}

function numberOf(parameters: Parameters, name: keyof Parameters, preset: number, min: number, max: number): number {
  const text = parameters[name];
  if (text === undefined) return preset;
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= min && value <= max) return value;
  throw invalid(`has a ${name} that is not a whole number from ${min} to ${max}`);
}

/** The server's own setting, which is to survive a loss of power, may have been relaxed by whoever runs it. */
function withDurability(options: string | undefined, durability: "process" | "power"): string | undefined {
  if (durability === "process") return options;
  return [options, "-c synchronous_commit=on"].filter((part) => part !== undefined).join(" ");
}

function describe(host = "", port = "", database = "", user = ""): string {
  const at = user === "" ? "" : `${encodeURIComponent(user)}@`;
  const shownHost = host.includes(":") ? `[${host}]` : host;
  return `postgres://${at}${shownHost}${port === "" ? "" : `:${port}`}/${database}`;
}

function invalid(fault: string): SkillError {
  return new SkillError("INVALID_OPTION", `The option "database" is a postgres: URL that ${fault}.`);
}
