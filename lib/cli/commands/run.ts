import type { SkillExecution } from "../../types.js";
import { type AddCommand, type CommandContext, type CommonOptions, examples, type Work } from "../command.js";
import { exitCodeOfStatus } from "../exit-codes.js";
import { loadHandlers } from "../handlers.js";
import { readInput } from "../input.js";
import { withKit } from "../kit.js";
import { noteLogger } from "../note-logger.js";
import { collect, integerBetween } from "../option-parsers.js";
import { errorLine } from "../report.js";
import { runLogger } from "../run-logger.js";
import { stoppedExitCode } from "../signals.js";

interface RunOptions extends CommonOptions {
  readonly input?: string;
  readonly require?: readonly string[];
  readonly owner?: string;
  readonly timeout?: number;
  readonly quiet?: boolean;
}

export const addRun: AddCommand = (program, toAction) => {
  program
    .command("run <reference>")
    .description("Run a skill in this process and print its output as JSON; what it logs goes to the standard error.")
    .option("--input <json>", "the input: JSON, @file, or - for the standard input (default: {})")
    .option("--require <module>", "load handlers: a module that exports a function (kit) => void; may be given again", collect)
    .option("--owner <id>", "run as this caller")
    .option("--timeout <ms>", "time limit in milliseconds", integerBetween(1, 2 ** 31 - 1))
    .option("--quiet", "print neither progress nor log lines")
    .addHelpText(
      "after",
      examples(
        `run summarizeText@^1 --require ./handlers.js --input '{"text":"Hello"}'`,
        "run summarizeText --require ./handlers.js --input @input.json",
        "run resizeImage --input - --json < input.json",
      ),
    )
    .action(toAction(run));
};

const run: Work<RunOptions> = async (context, options, [reference = ""]) => {
  const { terminal, signal } = context;
  const input = await readInput(options.input ?? "{}", context);
  const logger = options.quiet === true ? noteLogger(terminal) : runLogger(terminal);
  return withKit(
    context,
    options,
    async (kit) => {
      await loadHandlers(kit, options.require ?? []);
      await kit.ready();
      const call = { signal, apiKeyId: options.owner, timeoutMs: options.timeout };
      const execution = await kit.executor.execute<unknown>(reference, input, call);
      terminal.status("");
      print(context, execution, options.json === true);
      const code = exitCodeOfStatus(execution.status);
      return execution.status === "CANCELLED" ? (stoppedExitCode(signal) ?? code) : code;
    },
    { logger },
  );
};

function print({ terminal }: CommandContext, execution: SkillExecution<unknown>, isJson: boolean): void {
  const { id, skillName, skillVersion, status, output, errorCode, errorMessage } = execution;
  if (isJson || status === "SUCCESS") {
    terminal.printJson(isJson ? execution : output);
    return;
  }
  const why = `${skillName}@${skillVersion} ended as ${status} (${errorCode}): ${errorMessage}`;
  terminal.note(errorLine(terminal, `${why.replace(/\.?$/, ".")} See \`express-skills executions ${id}\`.`));
}
