import { StringDecoder } from "node:string_decoder";
import { isEngineWarning } from "./outcome.js";

/** Turns what a program writes into whole lines as it writes them. */
export interface LiveLines {
  push(chunk: Buffer): void;
  /** Tells what is left: nothing follows. */
  end(): void;
}

const longestHeld = 4096;
const hidden = "[redacted]";

/**
 * `tell` gets one or more whole lines at a time, with their ends; a line longer than 4 KiB in pieces. Secrets are replaced, also where one
 * comes in two chunks, and what the engine itself prints first is left out.
 */
export function createLiveLines(secrets: readonly string[], tell: (text: string) => void): LiveLines {
  const decoder = new StringDecoder("utf8");
  // A secret of several lines must be whole before the first of them is told.
  const back = Math.max(0, ...secrets.map((secret) => secret.length - 1));
  const backOfLines = secrets.some((secret) => secret.includes("\n")) ? back : 0;
  let held = "";
  let isFront = true;

  const take = (until: number) => {
    let text = held.slice(0, until);
    held = held.slice(until);
    while (isFront && isEngineWarning(text)) text = text.slice(text.indexOf("\n") + 1 || text.length);
    if (text === "") return;
    isFront = false;
    tell(text);
  };
  const redact = () => {
    for (const secret of secrets) held = held.replaceAll(secret, hidden);
  };

  return {
    push(chunk) {
      held += decoder.write(chunk);
      redact();
      const lineEnd = held.lastIndexOf("\n", held.length - 1 - backOfLines) + 1;
      if (lineEnd > 0) take(lineEnd);
      if (held.length - back > longestHeld) take(held.length - back);
    },
    end() {
      held += decoder.end();
      redact();
      take(held.length);
    },
  };
}
