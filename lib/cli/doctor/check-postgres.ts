import { isSkillError } from "../../errors.js";
import { loadGraphileWorker } from "../../store/graphile-worker.js";
import { inspectPostgres, type PostgresState } from "../../store/postgres-inspect.js";
import { type DatabaseFindings, type Finding, newerTables, ok, olderTables } from "./finding.js";

const OLDEST_SERVER = 15;
/** Every call waits for at least one commit, which is a round trip. */
const SLOW_MS = 20;

/** A PostgreSQL database: whether it answers, how fast, its tables, and what a server will want of it. */
export async function checkPostgres(url: string): Promise<DatabaseFindings> {
  try {
    const state = await inspectPostgres(url);
    const ofTables = checkTables(state);
    const findings = [ofTables, ...checkServer(state), ...checkRole(state), ...checkConnections(state), await checkQueue()];
    return { findings, isCurrent: ofTables.state === "ok" };
  } catch (error) {
    return { findings: [unusable(error)], isCurrent: false };
  }
}

/** No message repeats the URL's password. */
function unusable(error: unknown): Finding {
  const message = error instanceof Error ? error.message : String(error);
  return { subject: "database", state: "broken", message, action: cureOf(isSkillError(error) ? error.code : undefined) };
}

function cureOf(code: string | undefined): string {
  if (code === "INVALID_OPTION") return "Correct the URL in --database or SKILLS_DATABASE.";
  if (code === "STORE_DRIVER_UNAVAILABLE") return "Run `npm install pg`.";
  if (code === "STORE_UNAVAILABLE")
    return "Start the server, or correct host and port of the URL, and look at what is between here and there.";
  return "Correct user, password and name of the URL, or what the role may do.";
}

function checkTables({ database, applied, pending, newer, serverVersion, roundTripMs }: PostgresState): Finding {
  if (newer.length > 0) return newerTables(database, newer);
  if (applied.length === 0) {
    const action =
      "The first start of the server makes them, or run `express-skills migrate`. Is the name right, and the schema?";
    return { subject: "database", state: "warning", message: `${database} has no tables of express-skills`, action };
  }
  if (pending.length > 0) return olderTables(database, pending);
  return ok("database", `${database}, PostgreSQL ${serverVersion}, answers in ${roundTripMs.toFixed(1)} ms`);
}

function checkServer({ serverVersion, serverVersionNumber, roundTripMs, isEncrypted, isLocal }: PostgresState): Finding[] {
  const findings: Finding[] = [];
  if (serverVersionNumber < OLDEST_SERVER * 10_000) {
    const action = `Use PostgreSQL ${OLDEST_SERVER} or later.`;
    findings.push({ subject: "database", state: "warning", message: `PostgreSQL ${serverVersion} was not tested`, action });
  }
  if (roundTripMs > SLOW_MS) {
    const message = `a round trip takes ${Math.round(roundTripMs)} ms, which every call waits for`;
    findings.push({ subject: "database", state: "warning", message, action: "Run the server nearer to its database." });
  }
  if (!isEncrypted && !isLocal) {
    const message = "the connection to another machine is not encrypted";
    findings.push({ subject: "database", state: "warning", message, action: "Add sslmode=verify-full to the URL." });
  }
  return findings;
}

function checkRole({ database, isReadOnly, mayCreateTables, pending }: PostgresState): Finding[] {
  if (isReadOnly) {
    const action = "Name the primary server: a standby can only be read.";
    return [{ subject: "database", state: "broken", message: `${database} can only be read`, action }];
  }
  if (pending.length === 0 || mayCreateTables) return [];
  const message = "the role may not make the tables that are missing";
  const action = "Grant it CREATE on the schema, or run `express-skills migrate` as another role.";
  return [{ subject: "database", state: "broken", message, action }];
}

async function checkQueue(): Promise<Finding> {
  try {
    await loadGraphileWorker();
    return ok("queue", "graphile-worker");
  } catch {
    const message = "graphile-worker is not installed, which enqueue() and workers need";
    return { subject: "queue", state: "note", message, action: "Run `npm install graphile-worker@0.17` when you use them." };
  }
}

function checkConnections({ maxConnections, wantedConnections }: PostgresState): Finding[] {
  if (wantedConnections <= maxConnections) return [];
  const message = `one process may take ${wantedConnections} connections, and the server gives ${maxConnections} to all`;
  return [{ subject: "database", state: "warning", message, action: "Lower pool_size in the URL, or raise max_connections." }];
}
