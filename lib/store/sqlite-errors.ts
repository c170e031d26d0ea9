import { SkillError } from "../errors.js";

/**
 * - `busy`: another connection holds a lock; trying again in a moment can help
 * - `gone`: full or unreadable; it can recover, but not in a moment
 * - `denied`: read-only or not accessible; it can recover when it was accessible before
 * - `row`: the values were refused, the transaction goes on
 * - `broken`: nothing helps but an operator
 */
export type SqliteFault = "busy" | "gone" | "denied" | "row" | "broken";

/** Which kind of fault an error of a binding is; `undefined` when SQLite did not raise it. */
export function sqliteFault(error: unknown): SqliteFault | undefined {
  const code = primaryCode(error);
  return code === undefined ? undefined : (faults[code] ?? "broken");
}

/** The error as others see it; what SQLite did not raise, and what only concerns one row, is passed on as it is. */
export function toStoreError(error: unknown, database: string): unknown {
  const text = error instanceof Error ? error.message : String(error);
  switch (sqliteFault(error)) {
    case "busy":
      return new SkillError("STORE_UNAVAILABLE", `The database ${database} is locked by another process (${text}).`, {
        cause: error,
        retryAfterMs: 1_000,
      });
    case "gone":
    case "denied":
      return new SkillError("STORE_UNAVAILABLE", `The database ${database} cannot be read or written now: ${text}.`, {
        cause: error,
        retryAfterMs: 5_000,
      });
    case "broken":
      return new SkillError("STORE_INVALID", `The database ${database} cannot be used: ${text}.`, { cause: error });
    default:
      return error;
  }
}

/** By SQLite's primary result code, https://www.sqlite.org/rescode.html */
const faults: Readonly<Record<string, SqliteFault>> = {
  BUSY: "busy",
  LOCKED: "busy",
  PROTOCOL: "busy",
  FULL: "gone",
  IOERR: "gone",
  NOMEM: "gone",
  READONLY: "denied",
  CANTOPEN: "denied",
  INTERRUPT: "gone",
  CONSTRAINT: "row",
  TOOBIG: "row",
  MISMATCH: "row",
};

/** Node's binding gives the number, better-sqlite3 the name, both with the extended part. */
function primaryCode(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code, errcode } = error as { code?: unknown; errcode?: unknown };
  if (typeof errcode === "number") return codeNames[errcode & 0xff] ?? "ERROR";
  if (typeof code !== "string" || !code.startsWith("SQLITE_")) return undefined;
  return code.split("_")[1];
}

const codeNames: Readonly<Record<number, string>> = {
  5: "BUSY",
  6: "LOCKED",
  7: "NOMEM",
  8: "READONLY",
  9: "INTERRUPT",
  10: "IOERR",
  13: "FULL",
  14: "CANTOPEN",
  15: "PROTOCOL",
  18: "TOOBIG",
  19: "CONSTRAINT",
  20: "MISMATCH",
};
