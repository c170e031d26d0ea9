import type { Logger } from "../types.js";
import type { Terminal } from "./terminal.js";
import { oneLine } from "./visible-text.js";

/** Warnings and errors of the kit, each in one line of the standard error. */
export function noteLogger(terminal: Terminal): Logger {
  return {
    debug() {},
    info() {},
    warn: (fields, message) =>
      terminal.note(`${terminal.paint("yellow", "warning:", "stderr")} ${messageWithCause(message, fields)}`),
    error: (fields, message) =>
      terminal.note(`${terminal.paint("red", "error:", "stderr")} ${messageWithCause(message, fields)}`),
  };
}

function messageWithCause(message: string, fields: { readonly err?: unknown; readonly skill?: unknown }): string {
  const skill = typeof fields.skill === "string" ? ` (${fields.skill})` : "";
  const cause = fields.err instanceof Error ? `: ${fields.err.message}` : "";
  return oneLine(`${message}${skill}${cause}`);
}
