import type { SandboxResult } from "../types.js";
import type { Input } from "./container.js";
import type { LiveLines } from "./live-lines.js";
import { answeredResult, decideOutcome } from "./outcome.js";
import type { StartedContainer } from "./start-container.js";

export interface Question {
  /** As the caller named it. */
  readonly image: string;
  readonly input: Input;
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
  /** `exit`: the answer is complete when the program has ended. `line`: with its first line of output; the rest is not waited for. */
  readonly reply: "exit" | "line";
  readonly servedFrom: "warm" | "cold";
  /** Called when the program runs and has been given its input, from where its time counts. */
  readonly onStart?: (() => void) | undefined;
  /** Gets the standard error while it comes. */
  readonly errorOutput?: LiveLines | undefined;
}

/** Starting a process holds up everything else in this one: what no caller waits for begins when the answer is on its way. */
export const behindMs = 25;

/** Gives a container its input, and waits for its answer. */
export async function answer({ container, cwd }: StartedContainer, question: Question): Promise<SandboxResult> {
  const { signal, errorOutput } = question;
  const context = { image: question.image, cwd, servedFrom: question.servedFrom, warnings: [] };
  const onAbort = () => container.end("abort");
  signal?.addEventListener("abort", onAbort, { once: true });
  if (signal?.aborted === true) onAbort();
  if (errorOutput !== undefined) container.onErrorOutput = (chunk) => errorOutput.push(chunk);
  try {
    const line = question.reply === "line" ? firstLine(container) : null;
    container.feed(question.input, question.timeoutMs);
    if (question.onStart !== undefined) void container.started.then((isStarted) => isStarted && question.onStart?.());
    const ending = await (line === null ? container.ended : Promise.race([line, container.ended]));
    // A program may print its line and end at once: the line is the answer all the same.
    const isAnswered = ending === null || (line !== null && ending.reason === null && container.stdout.firstLine() !== null);
    if (!isAnswered) return await decideOutcome(container, ending, context);
    const result = answeredResult(container, context);
    setTimeout(() => container.end("drain"), behindMs);
    return result;
  } finally {
    container.onOutput = null;
    container.onErrorOutput = null;
    errorOutput?.end();
    signal?.removeEventListener("abort", onAbort);
  }
}

function firstLine(container: StartedContainer["container"]): Promise<null> {
  return new Promise((resolve) => {
    container.onOutput = () => {
      if (container.stdout.firstLine() !== null) resolve(null);
    };
  });
}
