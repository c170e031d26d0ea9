import { createRequire } from "node:module";
import { Command } from "commander";
import type { AddCommand, CommandContext, ToAction } from "./command.js";
import { addDashboard } from "./commands/dashboard.js";
import { addDoctor } from "./commands/doctor.js";
import { addDisable, addEnable } from "./commands/enable.js";
import { addExecutions } from "./commands/executions.js";
import { addList } from "./commands/list.js";
import { addMigrate } from "./commands/migrate.js";
import { addPrune } from "./commands/prune.js";
import { addRegister } from "./commands/register.js";
import { addRun } from "./commands/run.js";
import { addWorker } from "./commands/worker.js";
import { exitCodes } from "./exit-codes.js";
import { errorLine } from "./report.js";

const commands: readonly AddCommand[] = [
  addDoctor,
  addList,
  addRegister,
  addRun,
  addExecutions,
  addEnable,
  addDisable,
  addPrune,
  addMigrate,
  addWorker,
  addDashboard,
];

/** The command line; `onEnd` is told the exit code of the command that ran. */
export function createProgram(context: CommandContext, onEnd: (exitCode: number) => void): Command {
  const { terminal } = context;
  const program = new Command("express-skills");
  program
    .description("Looks after the skills of an Express application, and what they ran.")
    .version(packageVersion(), "-V, --version", "print the version")
    .option("--database <database>", "SQLite file or postgres:// URL to work on (default: SKILLS_DATABASE, else skills.db)")
    .option("--json", "print JSON instead of text")
    .helpOption("-h, --help", "print this help")
    .helpCommand("help [command]", "print the help of a command")
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => terminal.print(text.trimEnd()),
      writeErr: (text) => terminal.note(text.trimEnd()),
      getOutHelpWidth: () => Math.min(100, terminal.columns),
      getErrHelpWidth: () => Math.min(100, terminal.columns),
      outputError: (text) => terminal.note(`${errorLine(terminal, text.replace(/^error: /, "").trim())} (see --help)`),
    })
    .showHelpAfterError(false)
    .addHelpText("after", footer())
    .exitOverride();
  const toAction: ToAction =
    (work) =>
    async (...values) => {
      const command = values.at(-1) as Command;
      onEnd(await work(context, command.optsWithGlobals(), command.args));
    };
  for (const add of commands) add(program, toAction);
  return program;
}

function footer(): string {
  const codes = Object.values(exitCodes).map(([code, meaning]) => `  ${String(code).padStart(3)}  ${meaning}`);
  return ["", "Exit codes:", ...codes].join("\n");
}

function packageVersion(): string {
  const { version } = createRequire(import.meta.url)("express-skills/package.json") as { version: string };
  return version;
}
