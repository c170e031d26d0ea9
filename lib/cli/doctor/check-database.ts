import { existsSync } from "node:fs";
import { stat, statfs } from "node:fs/promises";
import { dirname } from "node:path";
import { SkillError } from "../../errors.js";
import { inspectSqlite } from "../../store/inspect.js";
import { isPostgresUrl } from "../../store/postgres-url.js";
import { fileOf } from "../chosen-database.js";
import { checkPostgres } from "./check-postgres.js";
import { type DatabaseFindings, type Finding, newerTables, ok, olderTables } from "./finding.js";

const LOW_DISK_BYTES = 256 * 1024 * 1024;
const OTHERS = 0o077;

/** The database, its tables and its place. Nothing is made or changed. */
export async function checkDatabase(database: string): Promise<DatabaseFindings> {
  if (isPostgresUrl(database)) return checkPostgres(database);
  const file = fileOf(database);
  if (file === undefined) return { findings: [otherUrlOrMemory(database)], isCurrent: false };
  if (!existsSync(file)) return { findings: [missing(file), ...(await checkDisk(dirname(file)))], isCurrent: false };
  const ofTables = checkTables(file);
  return { findings: [ofTables, ...(await checkMode(file)), ...(await checkDisk(file))], isCurrent: ofTables.state === "ok" };
}

function otherUrlOrMemory(database: string): Finding {
  if (database === ":memory:") return ok("database", "in memory: nothing is kept");
  return {
    subject: "database",
    state: "broken",
    message: "it is a URL of another kind than postgres://",
    action: "Name a file or a postgres:// URL with --database or SKILLS_DATABASE.",
  };
}

function missing(file: string): Finding {
  const folder = dirname(file);
  if (existsSync(folder)) {
    const action = "The first start of the server makes it, or run `express-skills migrate`. Is the name right?";
    return { subject: "database", state: "warning", message: `${file} does not exist`, action };
  }
  return {
    subject: "database",
    state: "broken",
    message: `the folder ${folder} does not exist`,
    action: `Run \`mkdir -p ${folder}\`.`,
  };
}

function checkTables(file: string): Finding {
  try {
    const { pending, newer } = inspectSqlite(file);
    if (newer.length > 0) return newerTables(file, newer);
    return pending.length === 0 ? ok("database", file) : olderTables(file, pending);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const isLocked = error instanceof SkillError && error.retryable;
    const action = isLocked
      ? "Find the process that holds it, for example with `fuser`."
      : "Restore it from a backup, or name another file.";
    return { subject: "database", state: "broken", message, action };
  }
}

/** The file holds what users sent. Windows has no such modes. */
async function checkMode(file: string): Promise<readonly Finding[]> {
  if (process.platform === "win32") return [];
  const { mode } = await stat(file);
  if ((mode & OTHERS) === 0) return [];
  const message = `other users of this machine may open it (mode ${(mode & 0o777).toString(8)})`;
  return [{ subject: "database", state: "warning", message, action: `Run \`chmod 600 ${file}\`.` }];
}

async function checkDisk(path: string): Promise<readonly Finding[]> {
  const disk = await statfs(path).catch(() => undefined);
  if (disk === undefined) return [];
  const freeBytes = disk.bavail * disk.bsize;
  if (freeBytes >= LOW_DISK_BYTES) return [];
  const message = `only ${Math.floor(freeBytes / 1024 / 1024)} MiB are free on the disk of ${path}`;
  return [
    { subject: "disk", state: "warning", message, action: "Free some, or delete old executions with `express-skills prune`." },
  ];
}
