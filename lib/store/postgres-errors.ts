import { isSkillError, SkillError } from "../errors.js";

/**
 * - `busy`: another transaction is in the way, or the server is starting; trying again in a moment can help
 * - `gone`: not reachable, restarting, full, or too slow; it can recover, but not in a moment
 * - `denied`: not allowed here; it can recover when it was allowed before
 * - `row`: the values were refused
 * - `broken`: nothing helps but an operator
 */
export type PostgresFault = "busy" | "gone" | "denied" | "row" | "broken";

/** Which kind of fault an error is that `pg` gave, be it of the server, of the connection or of `pg` itself. */
export function postgresFault(error: unknown): PostgresFault {
  const code = codeOf(error);
  if (code === undefined) return /does not support SSL|must be a string/.test(textOf(error)) ? "denied" : "gone";
  if (/^[0-9FHPX][0-9A-Z]{4}$/.test(code)) return byState[code] ?? byClass[code.slice(0, 2)] ?? "broken";
  // What is left are codes of Node: sockets, names, and certificates.
  return /CERT|TLS|SSL|UNABLE_TO/.test(code) ? "denied" : "gone";
}

/**
 * The error as others see it. What only concerns one row is passed on as it is.
 * @param database how the database is called in messages, without its password
 */
export function toStoreError(error: unknown, database: string): unknown {
  if (isSkillError(error)) return error;
  const text = textOf(error);
  switch (postgresFault(error)) {
    case "busy":
      return new SkillError("STORE_UNAVAILABLE", `The database ${database} is busy (${text}).`, {
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
    case "row":
      return error;
  }
}

/** The same for an error while the database is opened: what never worked needs the operator. */
export function toOpenError(error: unknown, database: string): unknown {
  if (isSkillError(error)) return error;
  const fault = postgresFault(error);
  if (fault === "busy" || fault === "gone") return toStoreError(error, database);
  return new SkillError("STORE_INVALID", `The database ${database} cannot be used: ${textOf(error)}.`, { cause: error });
}

/** By SQLSTATE, https://www.postgresql.org/docs/current/errcodes-appendix.html: first the exact state, else its class. */
const byState: Readonly<Record<string, PostgresFault>> = {
  "25006": "denied", // a standby
  "40001": "busy",
  "40P01": "busy",
  "42501": "denied",
  "55P03": "busy",
  "57P03": "busy",
};

const byClass: Readonly<Record<string, PostgresFault>> = {
  "08": "gone",
  "21": "row",
  "22": "row",
  "23": "row",
  "25": "gone",
  "28": "denied",
  "3D": "denied",
  "40": "busy",
  "53": "gone",
  "54": "row",
  "57": "gone",
  "58": "gone",
  XX: "gone",
};

function codeOf(error: unknown): string | undefined {
  const code = error instanceof Error ? (error as { code?: unknown }).code : undefined;
  return typeof code === "string" ? code : undefined;
}

/** A host with several addresses gives one error for each, under one without a text. */
function textOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === "") return textOf(error.errors[0]);
  return (error instanceof Error ? error.message : String(error)).replace(/\.$/, "");
}
