const MAX_WAIT_S = 3_600;

/** How long a client wants to wait, from its header `Prefer` (RFC 7240), in seconds; `undefined`: until the end. What cannot be read is no preference. */
export function parsePrefer(header: string | undefined): number | undefined {
  for (const part of (header ?? "").split(",")) {
    const [preference = ""] = part.split(";");
    const [name = "", value = ""] = preference.split("=").map((text) => text.trim());
    if (name.toLowerCase() === "respond-async") return 0;
    const seconds = /^"?([0-9]{1,6})"?$/.exec(value)?.[1];
    if (name.toLowerCase() === "wait" && seconds !== undefined) return Math.min(Number(seconds), MAX_WAIT_S);
  }
  return undefined;
}
