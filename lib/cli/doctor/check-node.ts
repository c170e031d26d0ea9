import semver from "semver";
import { workingSqliteDrivers } from "../../store/inspect.js";
import { loadSqliteDriver } from "../../store/sqlite-drivers.js";
import { type Finding, ok } from "./finding.js";

const OLDEST_NODE = "20.19.0";

/** Node itself, and the SQLite drivers that work in it, where one is needed. */
export function checkNode({ version = process.version, needsSqlite = true } = {}): readonly Finding[] {
  return [checkVersion(version), ...(needsSqlite ? [checkDriver()] : [])];
}

function checkVersion(version: string): Finding {
  if (semver.gte(version, OLDEST_NODE)) return ok("node", version);
  return {
    subject: "node",
    state: "broken",
    message: `${version} is older than ${OLDEST_NODE}`,
    action: `Install Node ${OLDEST_NODE} or later.`,
  };
}

function checkDriver(): Finding {
  const drivers = workingSqliteDrivers();
  if (drivers.length > 0)
    return ok("driver", `${drivers[0]}${drivers.length > 1 ? ` (also works: ${drivers.slice(1).join(", ")})` : ""}`);
  return { subject: "driver", state: "broken", message: "no SQLite driver works here", action: cure() };
}

/** The error of the store says what was tried and what helps. */
function cure(): string {
  try {
    loadSqliteDriver();
    return "Run doctor again.";
  } catch (error) {
    return (error as Error).message;
  }
}
