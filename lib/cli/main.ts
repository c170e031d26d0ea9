import { createProgram } from "./program.js";
import { reportError } from "./report.js";
import { stopOnSignals, stoppedExitCode } from "./signals.js";
import { createTerminal, type ProcessStreams } from "./terminal.js";

/** Runs one command line, and gives the code that the process exits with once everything is printed. */
export async function main(
  words: readonly string[],
  streams: ProcessStreams & NodeJS.EventEmitter,
  environment: NodeJS.ProcessEnv,
): Promise<number> {
  const terminal = createTerminal(streams, environment);
  const signals = stopOnSignals(streams);
  const outcome = { code: 0 };
  const context = { terminal, stdin: streams.stdin, environment, signal: signals.signal };
  try {
    const program = createProgram(context, (code) => {
      outcome.code = code;
    });
    await program.parseAsync([...words], { from: "user" });
  } catch (error) {
    const code = reportError(terminal, error, words.includes("--json"));
    outcome.code = stoppedExitCode(signals.signal) ?? code;
  } finally {
    signals.stop();
  }
  await terminal.flushed();
  return outcome.code;
}
