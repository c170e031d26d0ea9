import { isSkillError } from "../../errors.js";
import type { Copied } from "../../store/copy.js";
import { openStore } from "../../store/open.js";
import type { Store } from "../../store/store.js";
import { databaseOf, lookAt } from "../chosen-database.js";
import { type AddCommand, type CommandContext, type CommonOptions, examples, type Work } from "../command.js";
import { copyFrom, openSource } from "../copy.js";
import { exitCode } from "../exit-codes.js";
import { stoppedExitCode } from "../signals.js";

interface MigrateOptions extends CommonOptions {
  readonly from?: string;
}

interface Migrated {
  readonly database: string;
  /** Whether it was not there before. */
  readonly created: boolean;
  readonly applied: readonly string[];
  /** Of `--from`. */
  readonly copied?: Copied & { readonly from: string };
}

export const addMigrate: AddCommand = (program, toAction) => {
  program
    .command("migrate")
    .description("Bring the database up to date, or make it. Servers do this by themselves when they start.")
    .option("--from <file>", "then copy an SQLite file into it, all or nothing; it must be PostgreSQL, and empty")
    .addHelpText(
      "after",
      examples(
        "migrate",
        "migrate --database /var/lib/app/skills.db",
        "migrate --from skills.db --database postgres://app@db.example/app",
      ),
    )
    .action(toAction(migrate));
};

const migrate: Work<MigrateOptions> = async (context, options) => {
  const { terminal, signal } = context;
  try {
    const migrated = await migrateAndCopy(context, databaseOf(context, options), options.from);
    if (options.json) terminal.printJson(migrated);
    else for (const line of linesOf(migrated)) terminal.print(line);
    return exitCode("ok");
  } catch (error) {
    const stopped = stoppedExitCode(signal);
    if (stopped === undefined) throw error;
    terminal.note("Stopped. Nothing was copied.");
    return stopped;
  }
};

async function migrateAndCopy(context: CommandContext, database: string, from: string | undefined): Promise<Migrated> {
  // First, so that a fault of it leaves the other database as it is.
  const source = from === undefined ? undefined : await openSource(from, database);
  try {
    const { name, isThere, applied: before } = await lookAt(database);
    const store = await openStore({ database, durability: "process" });
    try {
      await prepareJobs(store, context);
      const { applied: after } = await lookAt(database);
      const applied = after.filter((migration) => !before.includes(migration));
      const migrated = { database: name, created: !isThere && applied.length > 0, applied };
      if (source === undefined) return migrated;
      return { ...migrated, copied: { from: source.file, ...(await copyFrom(source, store, context)) } };
    } finally {
      await store.close();
    }
  } finally {
    source?.close();
  }
}

/** Done here too, since the role of the servers may not be allowed to. */
async function prepareJobs({ jobs }: Store, { terminal }: CommandContext): Promise<void> {
  try {
    await jobs?.prepare();
  } catch (error) {
    if (!isSkillError(error) || error.code !== "STORE_DRIVER_UNAVAILABLE") throw error;
    terminal.note("The tables of queued work are left out: graphile-worker is not installed.");
  }
}

function linesOf({ database, created, applied, copied }: Migrated): readonly string[] {
  const tables =
    applied.length === 0
      ? [`${database} is up to date.`]
      : [`${database} ${created ? "is made" : "is brought up to date"}:`, ...applied.map((name) => `  ${name}`)];
  if (copied === undefined) return tables;
  const { from, skills, settings, executions } = copied;
  return [...tables, `${skills} versions of skills, ${settings} settings and ${executions} executions are copied from ${from}.`];
}
