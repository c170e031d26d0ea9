import { type AddCommand, type CommonOptions, examples, type Work } from "../command.js";
import { exitCode } from "../exit-codes.js";
import { loadHandlers } from "../handlers.js";
import { withKit } from "../kit.js";
import { collect, integerBetween } from "../option-parsers.js";
import { aborted } from "../signals.js";

/** As a server has by default. */
const MAX_SLOTS = 16;

interface WorkerCommandOptions extends CommonOptions {
  readonly require?: readonly string[];
  readonly concurrency?: number;
  readonly grace: number;
}

export const addWorker: AddCommand = (program, toAction) => {
  program
    .command("worker")
    .description(
      "Work off the queue, until Ctrl-C or SIGTERM: then what runs may finish. Handlers and an engine here say which skills.",
    )
    .option("--require <module>", "load handlers: a module that exports a function (kit) => void; may be given again", collect)
    .option("--concurrency <n>", "how much runs at once (default: 10)", integerBetween(1, 1_000))
    .option(
      "--grace <ms>",
      "how long what runs may take to finish when it is told to stop",
      integerBetween(0, 2 ** 31 - 1),
      10_000,
    )
    .addHelpText(
      "after",
      examples("worker --require ./handlers.js", "worker --require ./handlers.js --concurrency 4 --grace 60000"),
    )
    .action(toAction(work));
};

const work: Work<WorkerCommandOptions> = async (context, options) => {
  const { terminal, signal } = context;
  return withKit(
    context,
    options,
    async (kit) => {
      await loadHandlers(kit, options.require ?? []);
      await kit.ready();
      const worker = kit.startWorker({ concurrency: options.concurrency });
      terminal.note("The worker is ready. Ctrl-C or SIGTERM stops it; a second one ends it at once.");
      await aborted(signal);
      terminal.note("Stopping: what runs may finish.");
      await worker.stop({ graceMs: options.grace });
      return exitCode("ok");
    },
    { maxSlots: MAX_SLOTS },
  );
};
