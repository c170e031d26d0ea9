import { CommanderError } from "commander";
import { isSkillError, type SkillErrorCode } from "../errors.js";
import { exitCode, exitCodeOfError } from "./exit-codes.js";
import type { Terminal } from "./terminal.js";
import { jsonText, oneLine } from "./visible-text.js";

const NAME = "express-skills";

/** What helps here, for errors whose messages speak to a program's author. */
const nextSteps: Readonly<Partial<Record<SkillErrorCode, string>>> = {
  HANDLER_NOT_FOUND: "Load it with --require MODULE.",
  SKILL_NOT_FOUND: "See what there is with `express-skills list`.",
  SKILL_DISABLED: "Let it run with `express-skills enable`.",
  SKILLS_DISABLED: "Turn skills on with `express-skills enable --all`.",
};

/** Tells of what a command threw, in one line and one for each further fault, and gives the exit code. */
export function reportError(terminal: Terminal, error: unknown, isJson: boolean): number {
  // Commander has printed its message, or the help.
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCode("ok") : exitCode("usage");
  const code = isSkillError(error) ? error.code : null;
  const message = error instanceof Error ? error.message : String(error);
  const faults = isSkillError(error) ? error.faults : [];
  if (isJson) terminal.note(jsonText({ error: { code, message, faults } }));
  else {
    terminal.note(errorLine(terminal, withNextStep(message, code)));
    // The message tells of the first one.
    if (faults.length > 1) for (const fault of faults) terminal.note(`  ${oneLine(`${fault.pointer || "/"}: ${fault.message}`)}`);
  }
  return isSkillError(error) ? exitCodeOfError(error) : exitCode("failed");
}

function withNextStep(message: string, code: SkillErrorCode | null): string {
  const step = code === null ? undefined : nextSteps[code];
  return step === undefined || message.includes("`express-skills ") ? message : `${message} ${step}`;
}

/** An error in one line. */
export function errorLine(terminal: Terminal, message: string): string {
  return `${terminal.paint("red", `${NAME}:`, "stderr")} ${oneLine(message)}`;
}
