import { SkillError } from "../errors.js";
import { isDead } from "../executor/instances.js";
import { type Copied, copyInto } from "../store/copy.js";
import { listInstances } from "../store/instances.js";
import { isPostgresUrl } from "../store/postgres-url.js";
import { openSqliteSnapshot, type SqliteSnapshot } from "../store/sqlite-snapshot.js";
import type { Store } from "../store/store.js";
import { fileOf, requireDatabase } from "./chosen-database.js";
import type { CommandContext } from "./command.js";

const TELL_EVERY_MS = 1_000;

/**
 * Opens the SQLite file that is to be copied, and keeps everybody from writing it until it is closed.
 * @throws INVALID_OPTION it is no file, or what it is copied into is no PostgreSQL database
 * @throws STORE_INVALID there is no such file, or its tables are of another version
 * @throws STORE_UNAVAILABLE a server is at work on it
 */
export async function openSource(from: string, database: string): Promise<SqliteSnapshot> {
  if (fileOf(from) === undefined) throw new SkillError("INVALID_OPTION", "--from must be the path of an SQLite file.");
  if (!isPostgresUrl(database))
    throw new SkillError(
      "INVALID_OPTION",
      "--from copies into a PostgreSQL database: name it with --database postgres://… or SKILLS_DATABASE.",
    );
  await requireDatabase(from);
  const source = await openSqliteSnapshot(from);
  try {
    refuseWhileInUse(source);
    return source;
  } catch (error) {
    source.close();
    throw error;
  }
}

/** Copies everything, or nothing when it is stopped or fails. */
export async function copyFrom(source: SqliteSnapshot, store: Store, { terminal, signal }: CommandContext): Promise<Copied> {
  let toldAtMs = performance.now();
  const onBatch = (done: number, total: number) => {
    if (signal.aborted) throw new SkillError("SKILL_CANCELLED", "The copy was stopped. Nothing was copied.");
    if (performance.now() - toldAtMs < TELL_EVERY_MS) return;
    toldAtMs = performance.now();
    terminal.status(`${done} of ${total} rows are copied.`);
  };
  const copied = await store.write(() => copyInto(source, onBatch));
  terminal.status("");
  return copied;
}

/** What a server wrote after the copy would be missing from it. */
function refuseWhileInUse(source: SqliteSnapshot): void {
  const alive = source.read(listInstances()).filter((instance) => !isDead(instance));
  if (alive.length === 0) return;
  const processes = alive.map(({ pid, host }) => `${pid} on ${host}`).join(", ");
  throw new SkillError(
    "STORE_UNAVAILABLE",
    `The database ${source.file} is in use by the process ${processes}. Stop it first. One that was killed on another host counts ` +
      "as gone a minute after its last sign of life.",
  );
}
