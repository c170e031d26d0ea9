import type { Readable, Writable } from "node:stream";
import { styleText } from "node:util";
import { jsonText } from "./visible-text.js";

/** What the command line needs of its process. */
export interface ProcessStreams {
  readonly stdin: Readable & { readonly isTTY?: boolean | undefined };
  readonly stdout: Writable & { readonly isTTY?: boolean | undefined; readonly columns?: number | undefined };
  readonly stderr: Writable & { readonly isTTY?: boolean | undefined };
}

type Colour = "red" | "green" | "yellow" | "cyan" | "dim" | "bold";

/** Where a command prints: results to standard output, everything else to standard error. */
export interface Terminal {
  /** Columns of the standard output; infinite when it is no terminal. */
  readonly columns: number;
  /** Aborts when nobody reads the standard output any more. */
  readonly closed: AbortSignal;
  /** Prints a line of the result. */
  print(line: string): void;
  printJson(value: unknown): void;
  /** Prints one JSON document in one line. */
  printJsonLine(value: unknown): void;
  /** Prints a line that is no result. */
  note(line: string): void;
  /** Shows a line that the next one replaces; where standard error is no terminal it is printed. An empty one ends it. */
  status(line: string): void;
  /** Colours text for the standard output, or for the standard error. */
  paint(colour: Colour, text: string, stream?: "stdout" | "stderr"): string;
  /** Resolves when everything is written, or can't be. */
  flushed(): Promise<void>;
}

export function createTerminal({ stdout, stderr }: ProcessStreams, environment: NodeJS.ProcessEnv): Terminal {
  const closed = new AbortController();
  // A reader such as `head` that has seen enough is no fault.
  for (const stream of [stdout, stderr]) stream.on("error", () => closed.abort());
  const mayColour = !environment["NO_COLOR"] && environment["TERM"] !== "dumb";
  let hasStatus = false;
  const write = (stream: Writable, text: string) => {
    if (!stream.destroyed && stream.writable) stream.write(text);
  };
  const clearStatus = () => {
    if (hasStatus) write(stderr, "\r\u001b[K");
    hasStatus = false;
  };
  const print = (line: string) => {
    clearStatus();
    write(stdout, `${line}\n`);
  };
  return {
    columns: stdout.isTTY === true ? Math.max(20, stdout.columns ?? 80) : Number.POSITIVE_INFINITY,
    closed: closed.signal,
    print,
    printJson: (value) => print(jsonText(value, 2)),
    printJsonLine: (value) => print(jsonText(value)),
    note(line) {
      clearStatus();
      write(stderr, `${line}\n`);
    },
    status(line) {
      if (stderr.isTTY !== true) {
        if (line !== "") write(stderr, `${line}\n`);
        return;
      }
      clearStatus();
      if (line === "") return;
      write(stderr, line);
      hasStatus = true;
    },
    paint(colour, text, stream = "stdout") {
      const isTerminal = (stream === "stdout" ? stdout : stderr).isTTY === true;
      // Decided here, so Node must not decide again by a stream of its own choice.
      return isTerminal && mayColour ? styleText(colour, text, { validateStream: false }) : text;
    },
    async flushed() {
      await Promise.all([stdout, stderr].map(written));
    },
  };
}

function written(stream: Writable): Promise<void> {
  return new Promise((resolve) => {
    if (stream.destroyed || !stream.writable) return resolve();
    stream.once("error", () => resolve());
    stream.write("", () => resolve());
  });
}
