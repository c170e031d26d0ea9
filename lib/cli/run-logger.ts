import type { Logger } from "../types.js";
import { noteLogger } from "./note-logger.js";
import type { Terminal } from "./terminal.js";
import { oneLine } from "./visible-text.js";

const BAR_CELLS = 20;
/** What every line of a handler has, which its reader knows. */
const KNOWN_FIELDS: ReadonlySet<string> = new Set(["executionId", "requestId", "skill", "attempt", "fraction"]);

/** Shows what handlers log and how far they are while they run. */
export function runLogger(terminal: Terminal): Logger {
  let shownProgress = "";
  return {
    ...noteLogger(terminal),
    debug(fields, message) {
      const { fraction } = fields as { fraction?: unknown };
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
      const said = oneLine(`${message}${fieldsText(fields)}`);
      terminal.note(`${terminal.paint("dim", `${oneLine(String(skill))}:`, "stderr")} ${said}`);
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
