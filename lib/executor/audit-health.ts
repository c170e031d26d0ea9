import type { Logger } from "../types.js";

const FIRST_RETRY_MS = 5;
const LAST_RETRY_MS = 100;
/** Another process on the same file holds its lock for moments all the time: that is no reason to refuse calls, nor to log. */
const FAILING_AFTER_MS = 100;

/** Whether the database takes what is written to it. Both turns are logged, once each. */
export class AuditHealth {
  readonly #waitMs: number;
  readonly #logger: Logger;
  readonly #countWaiting: () => number;
  #failures = 0;
  #failedAtMs = 0;
  #isFailing = false;

  /** `waitMs`: after how long an answer that has not come counts as a failure. `countWaiting` is asked for what is logged. */
  constructor(waitMs: number, logger: Logger, countWaiting: () => number) {
    this.#waitMs = waitMs;
    this.#logger = logger;
    this.#countWaiting = countWaiting;
  }

  /** Whether the last flush failed. */
  get didFail(): boolean {
    return this.#failures > 0;
  }

  /** Whether every flush of the last 100 ms or more failed, or one takes longer than a call waits. */
  get isFailing(): boolean {
    return this.#isFailing;
  }

  /** How long to wait before the next flush; 0 unless the last one failed. */
  get retryMs(): number {
    return this.#failures === 0 ? 0 : Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** (this.#failures - 1));
  }

  noteSuccess(): void {
    if (this.#isFailing) this.#logger.info({ failures: this.#failures }, "the audit is written again");
    this.#failures = 0;
    this.#isFailing = false;
  }

  noteFailure(error: unknown): void {
    const nowMs = performance.now();
    if (this.#failures++ === 0) this.#failedAtMs = nowMs;
    if (nowMs - this.#failedAtMs >= FAILING_AFTER_MS) this.#noteFailing(error);
  }

  /** A database that does not answer fails like one that says so, long before its own time limit. */
  async watch<T>(answer: Promise<T>): Promise<T> {
    const fail = () => this.#noteFailing(new Error(`the database has not answered for ${this.#waitMs} ms`));
    const timer = setTimeout(fail, this.#waitMs);
    try {
      return await answer;
    } finally {
      clearTimeout(timer);
    }
  }

  #noteFailing(error: unknown): void {
    if (this.#isFailing) return;
    this.#isFailing = true;
    this.#logger.error({ err: error, waiting: this.#countWaiting() }, "the audit cannot be written; trying again");
  }
}
