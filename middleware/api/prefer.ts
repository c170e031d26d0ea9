const MAX_WAIT_S = 3_600;

/** How long a client wants to wait for an answer. */
export interface WaitPreference {
  readonly waitS: number;
  /** Whether it does not want to wait at all, so that the work may run anywhere at any time. */
  readonly isAsync: boolean;
  /** The preference as it is confirmed in `Preference-Applied`. */
  readonly applied: string;
}

/** Reads a header `Prefer` (RFC 7240); `undefined`: until the end. What cannot be read is no preference. */
export function parsePrefer(header: string | undefined): WaitPreference | undefined {
  for (const part of (header ?? "").split(",")) {
    const [preference = ""] = part.split(";");
    const [name = "", value = ""] = preference.split("=").map((text) => text.trim());
    if (name.toLowerCase() === "respond-async") return { waitS: 0, isAsync: true, applied: "respond-async" };
    const seconds = /^"?([0-9]{1,6})"?$/.exec(value)?.[1];
    if (name.toLowerCase() !== "wait" || seconds === undefined) continue;
    const waitS = Math.min(Number(seconds), MAX_WAIT_S);
    return { waitS, isAsync: false, applied: `wait=${waitS}` };
  }
  return undefined;
}
