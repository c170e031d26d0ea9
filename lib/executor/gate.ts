import { SkillError } from "../errors.js";
import { MAX_TIMEOUT_MS } from "./deadline.js";

/** Lets calls in until it closes, and then waits for those that are in. */
export class Gate {
  /** Only calls of handlers that are waited for come in. */
  #isClosing = false;
  #isClosed = false;
  #isGraceOver = false;
  #inside = 0;
  #onIdle: (() => void) | undefined;

  /** Whether every call that is in, or still comes in, is to be ended at once. */
  get isGraceOver(): boolean {
    return this.#isGraceOver;
  }

  /** Counts a call, which must `leave()`; `isNested`: whether a handler of the same kit makes it. @throws SHUTTING_DOWN */
  enter(isNested: boolean): void {
    // A handler that ignored its signal may call on long after its call, and handlers of other kits are no part of what is waited for.
    if (this.#isClosed || (this.#isClosing && !isNested))
      throw new SkillError("SHUTTING_DOWN", "The server is shutting down; no new call is started.", { retryAfterMs: 1_000 });
    this.#inside++;
  }

  leave(): void {
    if (--this.#inside === 0 && this.#isClosing) {
      this.#isClosed = true;
      this.#onIdle?.();
    }
  }

  /** Resolves when all have left. `onGraceOver` is called when some have not after `graceMs`. */
  async close(graceMs: number, onGraceOver: () => void): Promise<void> {
    this.#isClosing = true;
    this.#isClosed = this.#inside === 0;
    if (this.#isClosed) return;
    const idle = new Promise<void>((resolve) => {
      this.#onIdle = resolve;
    });
    const endAll = () => {
      this.#isGraceOver = true;
      onGraceOver();
    };
    const timer = setTimeout(endAll, Math.min(graceMs, MAX_TIMEOUT_MS));
    await idle;
    clearTimeout(timer);
  }
}
