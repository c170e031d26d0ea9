import { SkillError } from "../errors.js";

/** The longest time limit: what a timer can hold (2^31-1 ms, about 24.8 days). */
export const MAX_TIMEOUT_MS = 2_147_483_647;

/** The clock of a call: one signal, aborted once, with a `SkillError` that says why. The first reason wins. */
export class Deadline {
  readonly #controller = new AbortController();
  readonly #timeoutMs: number;
  readonly #detach: (() => void)[] = [];
  #timer: NodeJS.Timeout | undefined;
  #endsAtMs: number;
  #leftMs = 0;

  /**
   * Starts the clock: SKILL_TIMEOUT after `timeoutMs`. When one of `signals` aborts, its reason is taken over when that is a
   * `SkillError` (a calling skill's), else it is SKILL_CANCELLED.
   */
  constructor(timeoutMs: number, signals: readonly (AbortSignal | undefined)[]) {
    this.#timeoutMs = timeoutMs;
    this.#endsAtMs = performance.now() + timeoutMs;
    this.#timer = setTimeout(this.#expire, timeoutMs);
    for (const signal of signals) if (signal !== undefined) this.#follow(signal);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** By the monotonic clock (`performance.now()`), in milliseconds. */
  get endsAtMs(): number {
    return this.#endsAtMs;
  }

  abort(reason: SkillError): void {
    this.#controller.abort(reason);
  }

  /** Stops the clock until `resume()`; the signals are still followed. */
  pause(): void {
    clearTimeout(this.#timer);
    this.#leftMs = Math.max(0, this.#endsAtMs - performance.now());
  }

  resume(): void {
    this.#endsAtMs = performance.now() + this.#leftMs;
    this.#timer = setTimeout(this.#expire, this.#leftMs);
  }

  /** Ends the clock: no timer and no listener is left. */
  clear(): void {
    clearTimeout(this.#timer);
    for (const detach of this.#detach) detach();
  }

  readonly #expire = () => {
    this.abort(new SkillError("SKILL_TIMEOUT", `The skill did not finish within ${Math.ceil(this.#timeoutMs)} ms.`));
  };

  #follow(signal: AbortSignal): void {
    const abort = () => this.abort(toReason(signal.reason));
    if (signal.aborted) {
      abort();
      return;
    }
    signal.addEventListener("abort", abort, { once: true });
    this.#detach.push(() => signal.removeEventListener("abort", abort));
  }
}

/** @throws INVALID_OPTION unless `value` is a whole number of milliseconds from 1 to 2,147,483,647 */
export function validateTimeoutMs(value: unknown, name: string): void {
  if (Number.isInteger(value) && (value as number) >= 1 && (value as number) <= MAX_TIMEOUT_MS) return;
  throw new SkillError(
    "INVALID_OPTION",
    `${name} must be a whole number of milliseconds from 1 to ${MAX_TIMEOUT_MS}, got ${String(value)}.`,
  );
}

/** Settles as `work` does, or rejects with the signal's reason as soon as it aborts; does not wait for work that ignores it. */
export function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) return Promise.reject(signal.reason);
  return new Promise<T>((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

function toReason(reason: unknown): SkillError {
  if (reason instanceof SkillError) return reason;
  return new SkillError("SKILL_CANCELLED", "The call was cancelled by its caller.", { cause: reason });
}
