import { setImmediate as nextTurn } from "node:timers/promises";
import { SkillError } from "../../errors.js";
import { countExecutions, pruneExecutions } from "../../store/executions.js";
import { openStore } from "../../store/open.js";
import type { Store } from "../../store/store.js";
import { EXECUTION_STATUSES } from "../../types.js";
import { databaseOf, requireDatabase } from "../chosen-database.js";
import { type AddCommand, type CommonOptions, examples, type Work } from "../command.js";
import { exitCode } from "../exit-codes.js";
import { integerBetween } from "../option-parsers.js";
import { stoppedExitCode } from "../signals.js";
import { parseTime } from "../time.js";

const BATCH = 500;
const FINAL = EXECUTION_STATUSES.filter((status) => status !== "QUEUED" && status !== "RUNNING");

interface PruneOptions extends CommonOptions {
  readonly before?: string;
  readonly days?: number;
  readonly dryRun?: boolean;
}

export const addPrune: AddCommand = (program, toAction) => {
  program
    .command("prune")
    .description("Delete old executions. What is queued or running stays.")
    .option("--before <time>", "delete what began before: 2026-01-31, 2026-01-31T12:00Z, 12h or 90d ago")
    .option("--days <n>", "delete what began more than this many days ago", integerBetween(0, 36_500))
    .option("--dry-run", "only print how many there are")
    .addHelpText("after", examples("prune --days 30", "prune --before 2026-01-31 --dry-run"))
    .action(toAction(prune));
};

const prune: Work<PruneOptions> = async (context, options) => {
  const { terminal, signal } = context;
  const before = beforeOf(options);
  const database = databaseOf(context, options);
  await requireDatabase(database);
  const store = await openStore({ database, durability: "process" });
  try {
    const isDryRun = options.dryRun === true;
    const count = isDryRun
      ? await store.read(countExecutions({ createdBefore: before, status: FINAL }))
      : await remove(store, before, signal);
    if (options.json) terminal.printJson({ before, [isDryRun ? "wouldDelete" : "deleted"]: count });
    else terminal.print(`${count} executions from before ${before} ${isDryRun ? "would be" : "are"} deleted.`);
    return stoppedExitCode(signal) ?? exitCode("ok");
  } finally {
    await store.close();
  }
};

function beforeOf({ before, days }: PruneOptions): string {
  if ((before === undefined) === (days === undefined))
    throw new SkillError("INVALID_OPTION", "Say what is old, with either --before TIME or --days N.");
  return parseTime("--before", before ?? `${days}d`);
}

/** In batches with a turn of the event loop between, so that servers on the same file get their turn. */
async function remove(store: Store, before: string, signal: AbortSignal): Promise<number> {
  for (let total = 0; ; ) {
    const deleted = await store.write(() => pruneExecutions(before, BATCH));
    total += deleted;
    if (deleted < BATCH || signal.aborted) return total;
    await nextTurn();
  }
}
