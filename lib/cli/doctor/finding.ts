/** One thing that doctor looked at. */
export interface Finding {
  readonly subject: string;
  /** `note`: could not be looked at, or is not needed. `broken`: something that is needed does not work. */
  readonly state: "ok" | "note" | "warning" | "broken";
  readonly message: string;
  /** What to do about it; `null` when there is nothing to do. */
  readonly action: string | null;
}

export interface DatabaseFindings {
  readonly findings: readonly Finding[];
  /** Whether there is one, with the tables of this version. */
  readonly isCurrent: boolean;
}

export function ok(subject: string, message: string): Finding {
  return { subject, state: "ok", message, action: null };
}

/** Tables that this version cannot work with. */
export function newerTables(database: string, newer: readonly string[]): Finding {
  const message = `${database} was changed by a newer version (${newer.join(", ")})`;
  return { subject: "database", state: "broken", message, action: "Update express-skills here, or use another database." };
}

/** Tables that the next start of a server changes. */
export function olderTables(database: string, pending: readonly string[]): Finding {
  const message = `${database} is of an older version (without ${pending.join(", ")})`;
  return { subject: "database", state: "warning", message, action: "Run `express-skills migrate`, or start the server." };
}
