import { SkillError } from "../errors.js";
import type { ExecutionRow } from "../store/rows.js";
import type { RefusedRow, Store } from "../store/store.js";
import type { Logger } from "../types.js";

const MAX_BATCH = 500;
const MAX_WAITING = 10_000;
const FIRST_RETRY_MS = 5;
const LAST_RETRY_MS = 100;
const NO_ERRORS: ReadonlyMap<string, unknown> = new Map();

export interface AuditConfig {
  /** Whether a call needs its row: when false, calls go on without one and what was lost is counted and logged. */
  readonly required: boolean;
  /** How long a finished call waits for its row, in milliseconds. */
  readonly waitMs: number;
}

/** The state of one call that is to be written. Rendered when it is flushed, so a state that is replaced before costs nothing. */
export interface AuditEntry {
  readonly id: string;
  render(): ExecutionRow;
}

export interface AuditStats {
  /** Entries that wait to be written. */
  readonly waiting: number;
  /** Rows written since the start. */
  readonly written: number;
  /** Entries given up since the start: refused by the database, or dropped when `required` is false. */
  readonly lost: number;
  /** Whether the last flush failed. */
  readonly failing: boolean;
}

interface Waiting {
  entry: AuditEntry;
  /** Told once, when the entry is written or given up. */
  settle: ((error: unknown) => void) | undefined;
  /** When the call stops waiting, by the monotonic clock. */
  expiresAtMs: number;
}

/** Where calls note their states. */
export interface Audit {
  readonly keepsRows: boolean;
  /** @throws AUDIT_UNAVAILABLE when a state could not be written now: asked before a handler runs. */
  admit(): void;
  /** Notes a state; a state of the same call that still waits is replaced. */
  put(entry: AuditEntry): void;
  /**
   * Notes a state and waits until it is committed.
   * @throws AUDIT_UNAVAILABLE after `waitMs`; the database's own error when it refuses the row
   */
  commit(entry: AuditEntry): Promise<void>;
  stats(): AuditStats;
  /** Writes what waits, for at most `waitMs`; what is left then is counted as lost and logged. */
  close(): Promise<void>;
}

/** The audit of a kit with `audit: false`. */
export const noAudit: Audit = Object.freeze({
  keepsRows: false,
  admit() {},
  put() {},
  commit: () => Promise.resolve(),
  stats: () => ({ waiting: 0, written: 0, lost: 0, failing: false }),
  close: () => Promise.resolve(),
});

/**
 * Writes executions in group commits: whatever waits at the end of an event-loop turn (SQLite) or when the previous flush ends
 * (PostgreSQL) goes into one transaction, at most 500 rows, one flush at a time. While the database is locked, full or gone the entries
 * stay and are tried again every 5 to 100 ms.
 */
export class AuditWriter implements Audit {
  readonly keepsRows = true;
  readonly #store: Store;
  readonly #config: AuditConfig;
  readonly #logger: Logger;
  readonly #waiting = new Map<string, Waiting>();
  #flushing: Promise<void> | undefined;
  #scheduled = false;
  #failures = 0;
  #written = 0;
  #lost = 0;
  #closed = false;
  /** One timer for all who wait: they wait equally long, so the first is due first. */
  #expiry: NodeJS.Timeout | undefined;

  constructor(store: Store, config: AuditConfig, logger: Logger) {
    this.#store = store;
    this.#config = config;
    this.#logger = logger;
  }

  admit(): void {
    if (!this.#config.required) return;
    if (this.#failures === 0 && this.#waiting.size < MAX_WAITING) return;
    const reason = this.#failures > 0 ? "the last write failed" : `${this.#waiting.size} entries wait to be written`;
    throw unavailable(`The audit cannot be written: ${reason}. The call was not started; try again later.`);
  }

  put(entry: AuditEntry): void {
    this.#enter(entry);
  }

  commit(entry: AuditEntry): Promise<void> {
    const waiting = this.#enter(entry);
    if (!this.#config.required && (this.#failures > 0 || this.#closed)) return Promise.resolve();
    return new Promise((resolve, reject) => {
      waiting.expiresAtMs = performance.now() + this.#config.waitMs;
      waiting.settle = (error) => (error === undefined ? resolve() : reject(error));
      if (this.#closed) this.#lose(waiting, "the server is closed");
      else this.#expiry ??= setTimeout(this.#expire, this.#config.waitMs);
    });
  }

  stats(): AuditStats {
    return { waiting: this.#waiting.size, written: this.#written, lost: this.#lost, failing: this.#failures > 0 };
  }

  async close(): Promise<void> {
    const giveUpAt = performance.now() + this.#config.waitMs;
    while (this.#waiting.size > 0 && performance.now() < giveUpAt) {
      await this.#flush();
      if (this.#failures > 0) await new Promise((resolve) => setTimeout(resolve, FIRST_RETRY_MS));
    }
    this.#closed = true;
    clearTimeout(this.#expiry);
    for (const waiting of this.#waiting.values()) this.#lose(waiting, "the server closed before the row could be written");
  }

  #enter(entry: AuditEntry): Waiting {
    let waiting = this.#waiting.get(entry.id);
    if (waiting !== undefined) waiting.entry = entry;
    else {
      if (this.#waiting.size >= MAX_WAITING && !this.#config.required) this.#dropOldest();
      waiting = { entry, settle: undefined, expiresAtMs: Number.POSITIVE_INFINITY };
      this.#waiting.set(entry.id, waiting);
    }
    this.#schedule();
    return waiting;
  }

  /** Those who waited long enough are told so; their entries stay, to be written when that is possible again. */
  readonly #expire = () => {
    this.#expiry = undefined;
    const nowMs = performance.now();
    let nextMs = Number.POSITIVE_INFINITY;
    for (const waiting of this.#waiting.values()) {
      if (waiting.settle === undefined) continue;
      if (waiting.expiresAtMs > nowMs) nextMs = Math.min(nextMs, waiting.expiresAtMs);
      else
        this.#tell(
          waiting,
          unavailable(
            `The row of execution ${waiting.entry.id} could not be written within ${this.#config.waitMs} ms.`,
            waiting.entry.id,
          ),
        );
    }
    if (nextMs < Number.POSITIVE_INFINITY) this.#expiry = setTimeout(this.#expire, nextMs - nowMs);
  };

  #tell(waiting: Waiting, error: SkillError | undefined): void {
    const { settle } = waiting;
    waiting.settle = undefined;
    settle?.(this.#config.required ? error : undefined);
  }

  #schedule(): void {
    if (this.#scheduled || this.#flushing !== undefined || this.#closed) return;
    this.#scheduled = true;
    const flush = () => {
      this.#scheduled = false;
      void this.#flush();
    };
    if (this.#failures === 0) setImmediate(flush);
    else setTimeout(flush, Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** (this.#failures - 1))).unref();
  }

  #flush(): Promise<void> {
    this.#flushing ??= this.#writeBatch().finally(() => {
      this.#flushing = undefined;
      if (this.#waiting.size > 0) this.#schedule();
    });
    return this.#flushing;
  }

  async #writeBatch(): Promise<void> {
    const batch = takeBatch(this.#waiting);
    if (batch.length === 0) return;
    const entries = batch.map((waiting) => waiting.entry);
    try {
      const answer = this.#store.upsertExecutions(entries.map((entry) => entry.render()));
      this.#settle(batch, entries, answer instanceof Promise ? await answer : answer);
      if (this.#failures > 0) this.#logger.info({ failures: this.#failures }, "the audit is written again");
      this.#failures = 0;
    } catch (error) {
      if (this.#failures++ === 0)
        this.#logger.error({ err: error, waiting: this.#waiting.size }, "the audit cannot be written; trying again");
    }
  }

  #settle(batch: readonly Waiting[], entries: readonly AuditEntry[], refused: readonly RefusedRow[]): void {
    const errors = refused.length === 0 ? NO_ERRORS : new Map(refused.map((row) => [row.id, row.error]));
    for (const [index, waiting] of batch.entries()) {
      const entry = entries[index] as AuditEntry;
      if (errors.has(entry.id)) {
        this.#refuse(waiting, errors.get(entry.id));
        continue;
      }
      this.#written++;
      // A later state may have come in while PostgreSQL wrote this one: it stays, and its waiters with it.
      if (waiting.entry !== entry) continue;
      this.#waiting.delete(entry.id);
      waiting.settle?.(undefined);
    }
    if (this.#waiting.size === 0) {
      clearTimeout(this.#expiry);
      this.#expiry = undefined;
    }
  }

  /** The database will never take this row: its own error goes to the call. */
  #refuse(waiting: Waiting, error: unknown): void {
    this.#lost++;
    this.#waiting.delete(waiting.entry.id);
    this.#logger.error({ executionId: waiting.entry.id, err: error }, "the database refused an audit row");
    waiting.settle?.(error);
  }

  #lose(waiting: Waiting, why: string): void {
    const { id } = waiting.entry;
    this.#lost++;
    this.#waiting.delete(id);
    this.#logger.error({ executionId: id }, `an audit row is lost: ${why}`);
    this.#tell(waiting, unavailable(`The row of execution ${id} is lost: ${why}.`, id));
  }

  #dropOldest(): void {
    const [oldest] = this.#waiting.values();
    if (oldest !== undefined) this.#lose(oldest, `${MAX_WAITING} entries wait`);
  }
}

function takeBatch(waiting: ReadonlyMap<string, Waiting>): Waiting[] {
  const batch: Waiting[] = [];
  for (const one of waiting.values()) {
    batch.push(one);
    if (batch.length === MAX_BATCH) break;
  }
  return batch;
}

function unavailable(message: string, executionId?: string): SkillError {
  return new SkillError("AUDIT_UNAVAILABLE", message, { retryAfterMs: 1000, ...(executionId && { executionId }) });
}
