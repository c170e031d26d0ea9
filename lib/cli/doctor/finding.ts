/** One thing that doctor looked at. */
export interface Finding {
  readonly subject: string;
  /** `note`: could not be looked at, or is not needed. `broken`: something that is needed does not work. */
  readonly state: "ok" | "note" | "warning" | "broken";
  readonly message: string;
  /** What to do about it; `null` when there is nothing to do. */
  readonly action: string | null;
}

export function ok(subject: string, message: string): Finding {
  return { subject, state: "ok", message, action: null };
}
