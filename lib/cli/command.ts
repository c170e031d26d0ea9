import type { Command } from "commander";
import type { ProcessStreams, Terminal } from "./terminal.js";

/** What every command gets besides its own arguments. */
export interface CommandContext {
  readonly terminal: Terminal;
  readonly stdin: ProcessStreams["stdin"];
  readonly environment: NodeJS.ProcessEnv;
  /** Aborts on Ctrl-C and SIGTERM. */
  readonly signal: AbortSignal;
}

/** Options of the program that every command takes. */
export interface CommonOptions {
  readonly database?: string | undefined;
  readonly json?: boolean | undefined;
}

/** Does a command's work, and gives the code that the process exits with. `operands` are the words that are no options. */
export type Work<Options extends CommonOptions> = (
  context: CommandContext,
  options: Options,
  operands: readonly string[],
) => Promise<number>;

/** Makes an action of commander out of a command's work. */
export type ToAction = <Options extends CommonOptions>(work: Work<Options>) => (...values: unknown[]) => Promise<void>;

/** Adds a command to the program. */
export type AddCommand = (program: Command, toAction: ToAction) => void;

/** Examples under a command's help. */
export function examples(...lines: readonly string[]): string {
  return ["", "Examples:", ...lines.map((line) => `  $ express-skills ${line}`)].join("\n");
}
