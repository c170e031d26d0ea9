import type { Logger } from "../types.js";
import { noteLogger } from "./note-logger.js";
import type { Terminal } from "./terminal.js";
import { oneLine } from "./visible-text.js";

const BAR_CELLS = 20;
/** What every line of a handler has, which its reader knows. */
const KNOWN_FIELDS: ReadonlySet<string> = new Set(["executionId", "requestId", "skill", "attempt", "fraction"]);

/** Shows what handlers log, how far they are, and what containers write to their standard error, while they run. */
export function runLogger(terminal: Terminal): Logger {
  let shownProgress = "";
  const note = (skill: unknown, text: string) =>
    terminal.note(`${terminal.paint("dim", `${oneLine(String(skill))}:`, "stderr")} ${oneLine(text)}`);
  return {
    ...noteLogger(terminal),
    debug(fields, message) {
      const { fraction, stream, skill } = fields as { fraction?: unknown; stream?: unknown; skill?: unknown };
      if (stream === "stderr") for (const line of message.split("\n")) note(skill, line);
      if (typeof fraction !== "number") return;
      const line = progressLine(fraction, message);
      if (line === shownProgress) return;
      shownProgress = line;
      terminal.status(line);
    },
    info(fields, message) {
      const { executionId, skill } = fields as { executionId?: unknown; skill?: unknown };
      // Without an execution it is the kit that speaks.
      if (executionId === undefined) return;
      note(skill, `${message}${fieldsText(fields)}`);
    },
  };
}

function progressLine(fraction: number, message: string): string {
  const full = Math.round(fraction * BAR_CELLS);
  const bar = "#".repeat(full) + "-".repeat(BAR_CELLS - full);
  const text = message === "progress" ? "" : ` ${oneLine(message)}`;
  return `[${bar}] ${String(Math.floor(fraction * 100)).padStart(3)}%${text}`;
}

function fieldsText(fields: object): string {
  return Object.entries(fields)
    .filter(([key]) => !KNOWN_FIELDS.has(key))
    .map(([key, value]) => ` ${key}=${typeof value === "string" ? value : safeJson(value)}`)
    .join("");
}

/** A handler may log what is no JSON. */
function safeJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return "[not JSON]";
  }
}
