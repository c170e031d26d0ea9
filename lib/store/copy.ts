import { sql } from "kysely";
import { isSkillError, SkillError } from "../errors.js";
import { all, db, first, run } from "./query.js";
import type { SettingsTable } from "./rows.js";
import { nextRevision } from "./skills.js";
import type { SqliteSnapshot } from "./sqlite-snapshot.js";
import type { Operation } from "./store.js";

/** Of one statement: far below what a statement may bind, and what a process or a message should hold. */
const BATCH_ROWS = 500;
const BATCH_CHARS = 4_000_000;

export interface Copied {
  readonly skills: number;
  readonly settings: number;
  readonly executions: number;
}

/**
 * Copies skills with those that were unregistered, settings, executions and queued work into an empty database, to be run in one transaction: all or
 * nothing. Instances are left out, so that what they left running is taken for interrupted by the first server that starts.
 * @param onBatch told how many of how many rows are copied; what it throws ends the copy
 * @throws STORE_INVALID the database is not empty, or a row does not fit
 */
export function* copyInto(source: SqliteSnapshot, onBatch: (done: number, total: number) => void): Operation<Copied> {
  // It also keeps others from registering meanwhile; and every process that has read the empty catalogue sees what comes with it.
  const revision = yield* nextRevision();
  yield* assertEmpty();
  const settings = source.read(all(db.selectFrom("settings").selectAll()));
  const total = { skills: countRows(source, "skills"), executions: countRows(source, "skill_executions") };
  const tell = (done: number) => onBatch(done, total.skills + total.executions);
  yield* copySettings(settings);
  const skills = yield* copyRows(source, "skills", { revision }, tell);
  const executions = yield* copyRows(source, "skill_executions", {}, (done) => tell(skills + done));
  const work = yield* copyRows(source, "queued_work", {}, () => tell(skills + executions));
  if (skills !== total.skills || executions !== total.executions || work !== countRows(source, "queued_work"))
    throw new SkillError("STORE_INVALID", `Not every row of ${source.file} could be copied: it is damaged. Nothing was copied.`);
  return { skills, settings: settings.length, executions };
}

type CopiedTable = "skills" | "skill_executions" | "queued_work";

/** The texts that may be large. */
const largeColumns = {
  skills: ["content"],
  skill_executions: ["input", "output", "log", "error_message"],
  queued_work: ["input"],
} as const satisfies Record<CopiedTable, readonly string[]>;

function* assertEmpty(): Operation<void> {
  const found: string[] = [];
  if (yield* first(db.selectFrom("skills").select("id").limit(1))) found.push("skills");
  if (yield* first(db.selectFrom("settings").select("key").limit(1))) found.push("settings");
  if (yield* first(db.selectFrom("skill_executions").select("id").limit(1))) found.push("executions");
  if (found.length === 0) return;
  throw new SkillError(
    "STORE_INVALID",
    `The database to copy into has ${found.join(" and ")} already. Nothing was copied. Name an empty one, ` +
      "or another schema with the URL's parameter options=-csearch_path%3DNAME.",
  );
}

function* copySettings(settings: readonly SettingsTable[]): Operation<void> {
  for (const setting of settings) yield* run(db.insertInto("settings").values(setting));
}

/** In the order of their ids; gives how many. */
function* copyRows(source: SqliteSnapshot, table: CopiedTable, change: object, tell: (done: number) => void): Operation<number> {
  let copied = 0;
  for (let after = ""; ; ) {
    const last = endOfBatch(source, table, after);
    if (last === undefined) return copied;
    const rows = source.read(all(db.selectFrom(table).selectAll().where("id", ">", after).where("id", "<=", last).orderBy("id")));
    try {
      copied += yield* run(db.insertInto(table).values(rows.map((row) => ({ ...row, ...change }))));
    } catch (error) {
      if (isSkillError(error)) throw error;
      const where = `${table} from ${rows[0]?.id} to ${last}`;
      const reason = error instanceof Error ? error.message : String(error);
      const message = `A row of ${where} in ${source.file} cannot be stored: ${reason}. Nothing was copied.`;
      throw new SkillError("STORE_INVALID", message, { cause: error });
    }
    tell(copied);
    after = last;
  }
}

/** The last id of as many rows as fit into a batch, at least one; `undefined` when there are no more. */
function endOfBatch(source: SqliteSnapshot, table: CopiedTable, after: string): string | undefined {
  const sizes = largeColumns[table].map((column) => sql`coalesce(length(${sql.ref(column)}), 0)`);
  const rows = source.read(
    all(
      db
        .selectFrom(table)
        .select(["id", sql<number>`${sql.join(sizes, sql` + `)}`.as("chars")])
        .where("id", ">", after)
        .orderBy("id")
        .limit(BATCH_ROWS),
    ),
  );
  let chars = 0;
  let last: string | undefined;
  for (const row of rows) {
    chars += row.chars;
    if (last !== undefined && chars > BATCH_CHARS) break;
    last = row.id;
  }
  return last;
}

function countRows(source: SqliteSnapshot, table: CopiedTable): number {
  const row = source.read(first(db.selectFrom(table).select((eb) => eb.fn.countAll<number>().as("count"))));
  return Number(row?.count ?? 0);
}
