import { existsSync } from "node:fs";
import { inspectSqlite } from "../../store/inspect.js";
import { openStore } from "../../store/open.js";
import { databaseOf, fileOf } from "../chosen-database.js";
import { type AddCommand, type CommonOptions, examples, type Work } from "../command.js";
import { exitCode } from "../exit-codes.js";

interface Migrated {
  readonly database: string;
  /** Whether the file was not there before. */
  readonly created: boolean;
  readonly applied: readonly string[];
}

export const addMigrate: AddCommand = (program, toAction) => {
  program
    .command("migrate")
    .description("Bring the database up to date, or make it. Servers do this by themselves when they start.")
    .addHelpText("after", examples("migrate", "migrate --database /var/lib/app/skills.db"))
    .action(toAction(migrate));
};

const migrate: Work<CommonOptions> = async (context, options) => {
  const { terminal } = context;
  const database = databaseOf(context, options);
  const file = fileOf(database);
  const created = file !== undefined && !existsSync(file);
  const before = created || file === undefined ? [] : inspectSqlite(file).applied;
  const store = await openStore({ database, durability: "process" });
  await store.close();
  const after = file === undefined ? [] : inspectSqlite(file).applied;
  const migrated: Migrated = { database: file ?? database, created, applied: after.filter((name) => !before.includes(name)) };
  if (options.json) terminal.printJson(migrated);
  else for (const line of linesOf(migrated)) terminal.print(line);
  return exitCode("ok");
};

function linesOf({ database, created, applied }: Migrated): readonly string[] {
  if (applied.length === 0) return [`${database} is up to date.`];
  return [`${database} ${created ? "is made" : "is brought up to date"}:`, ...applied.map((name) => `  ${name}`)];
}
