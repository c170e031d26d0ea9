import { setMaxListeners } from "node:events";
import { SkillError } from "../errors.js";
import type { AbortSignalLike } from "../types.js";

/** The longest time limit: what a timer can hold (2^31-1 ms, about 24.8 days). */
export const MAX_TIMEOUT_MS = 2_147_483_647;

/**
 * The clock of a call: it ends once, with a `SkillError` that says why. The first reason wins. The `AbortSignal` is made when somebody asks for
 * it, since most calls never do and it costs more than the rest of the clock.
 */
export class Deadline {
  readonly #timeoutMs: number;
  readonly #listeners = new Set<(reason: SkillError) => void>();
  readonly #detach: (() => void)[] = [];
  #controller: AbortController | undefined;
  #reason: SkillError | undefined;
  #timer: NodeJS.Timeout | undefined;
  #endsAtMs: number;
  #leftMs = 0;

  /** Starts the clock: SKILL_TIMEOUT after `timeoutMs`. */
  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
    this.#endsAtMs = performance.now() + timeoutMs;
    this.#timer = setTimeout(expire, timeoutMs, this);
  }

  /** Why it ended; `undefined` while it has not. */
  get reason(): SkillError | undefined {
    return this.#reason;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      // A handler may start many things at once that each listen.
      setMaxListeners(0, this.#controller.signal);
      if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  /** By the monotonic clock (`performance.now()`), in milliseconds. */
  get endsAtMs(): number {
    return this.#endsAtMs;
  }

  abort(reason: SkillError): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    clearTimeout(this.#timer);
    // The call's own listeners come first: a handler that throws when its signal aborts is too late to change the outcome.
    for (const listener of this.#listeners) listener(reason);
    this.#controller?.abort(reason);
  }

  /** Why it ended, by the clock too: a timer is late when something keeps the event loop. */
  check(): SkillError | undefined {
    if (this.#reason === undefined && performance.now() >= this.#endsAtMs) this.expire();
    return this.#reason;
  }

  /** Aborts with SKILL_TIMEOUT: its time is over. */
  expire(): void {
    this.abort(new SkillError("SKILL_TIMEOUT", `The skill did not finish within ${Math.ceil(this.#timeoutMs)} ms.`));
  }

  /** Calls `listener` when it ends, unless the function that is returned was called before. */
  onAbort(listener: (reason: SkillError) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Ends when a caller's signal does, with SKILL_CANCELLED, or that signal's reason when it is a `SkillError`. */
  followSignal(signal: AbortSignalLike): void {
    const abort = () => this.abort(toReason(signal.reason));
    if (signal.aborted) {
      abort();
      return;
    }
    signal.addEventListener("abort", abort, { once: true });
    this.#detach.push(() => signal.removeEventListener("abort", abort));
  }

  /** Ends when the calling skill's clock does, with its reason. */
  followDeadline(calling: Deadline): void {
    if (calling.reason !== undefined) this.abort(calling.reason);
    else this.#detach.push(calling.onAbort((reason) => this.abort(reason)));
  }

  /** Settles as `work` does, or rejects with the reason as soon as there is one: work that ignores its signal is not waited for. */
  race<T>(work: PromiseLike<T>): Promise<T> {
    if (this.#reason !== undefined) return Promise.reject(this.#reason);
    return new Promise<T>((resolve, reject) => {
      const stop = this.onAbort(reject);
      work.then(
        (value) => {
          stop();
          resolve(value);
        },
        (thrown) => {
          stop();
          reject(thrown);
        },
      );
    });
  }

  /** Stops the clock until `resume()`; it may still be aborted. */
  pause(): void {
    clearTimeout(this.#timer);
    this.#leftMs = Math.max(0, this.#endsAtMs - performance.now());
  }

  resume(): void {
    this.#endsAtMs = performance.now() + this.#leftMs;
    if (this.#reason === undefined) this.#timer = setTimeout(expire, this.#leftMs, this);
  }

  /** Ends the clock: no timer and no listener is left. */
  clear(): void {
    clearTimeout(this.#timer);
    for (const detach of this.#detach) detach();
  }
}

function expire(deadline: Deadline): void {
  deadline.expire();
}

/** @throws INVALID_OPTION unless `value` is a whole number of milliseconds from 1 to 2,147,483,647 */
export function validateTimeoutMs(value: unknown, name: string): void {
  if (Number.isInteger(value) && (value as number) >= 1 && (value as number) <= MAX_TIMEOUT_MS) return;
  throw new SkillError(
    "INVALID_OPTION",
    `${name} must be a whole number of milliseconds from 1 to ${MAX_TIMEOUT_MS}, got ${shown(value)}.`,
  );
}

function shown(value: unknown): string {
  return typeof value === "number" ? String(value) : `a value of type ${typeof value}`;
}

function toReason(reason: unknown): SkillError {
  if (reason instanceof SkillError) return reason;
  return new SkillError("SKILL_CANCELLED", "The call was cancelled by its caller.", { cause: reason });
}
