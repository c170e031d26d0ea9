import { SkillError } from "../errors.js";
import type { ExecutionRow } from "../store/rows.js";
import type { RefusedRow, Store } from "../store/store.js";
import type { Logger } from "../types.js";
import type { Audit, AuditEntry, AuditStats } from "./audit.js";
import { AuditHealth } from "./audit-health.js";

const MAX_BATCH = 500;
/** Ends that are worth a transaction of their own. */
const GOOD_BATCH = 64;
/** How many turns of the event loop ends are gathered for: next to nothing when it is idle, a larger batch when it is busy. */
const GATHER_TURNS = 4;
const START_DELAY_MS = 10;
const MAX_WAITING = 10_000;
/** While flushes fail: how soon the next one is waited for, for a call and by the end of the writer. */
const CONFIRM_AGAIN_MS = 100;
const CLOSE_AGAIN_MS = 5;

export interface AuditConfig {
  /** Whether a call needs its row: when false, calls go on without one and what was lost is counted and logged. */
  readonly required: boolean;
  /** How long a finished call waits for its row, in milliseconds. */
  readonly waitMs: number;
}

interface Waiting {
  readonly entry: AuditEntry;
  /** By the monotonic clock: when a start is written at the latest, or when the call of an end stops waiting. */
  readonly dueAtMs: number;
  /** Told once, when an end is written or given up. */
  settle: ((error: unknown) => void) | undefined;
}

/**
 * Writes executions in group commits: the ends of calls within the next four turns of the event loop, or when the previous flush ends
 * (PostgreSQL), in one transaction of at most 500 rows, one flush at a time. The start of a call is written with the next flush once it is 10 ms
 * old, so that a call which ends before costs one row: a crash can lose calls younger than that. While the database is locked, full or
 * gone the entries stay and are tried again every 5 to 100 ms.
 */
export class AuditWriter implements Audit {
  readonly keepsRows = true;
  readonly #store: Store;
  readonly #config: AuditConfig;
  readonly #logger: Logger;
  readonly #health: AuditHealth;
  /** Calls that began, oldest first; an end takes its call out. */
  readonly #starts = new Map<string, Waiting>();
  readonly #ends = new Map<string, Waiting>();
  #flushing: Promise<void> | undefined;
  #scheduled = false;
  #written = 0;
  #lost = 0;
  #closed = false;
  #startTimer: NodeJS.Timeout | undefined;
  /** One timer for all calls that wait: they wait equally long, so the first is due first. */
  #expiryTimer: NodeJS.Timeout | undefined;

  constructor(store: Store, config: AuditConfig, logger: Logger) {
    this.#store = store;
    this.#config = config;
    this.#logger = logger;
    this.#health = new AuditHealth(config.waitMs, logger, () => this.#size());
  }

  admit(): void {
    if (!this.#config.required) return;
    if (!this.#health.isFailing && this.#size() < MAX_WAITING) return;
    const reason = this.#health.isFailing ? "the last writes failed" : `${this.#size()} entries wait to be written`;
    throw unavailable(`The audit cannot be written: ${reason}. The call was not started; try again later.`);
  }

  put(entry: AuditEntry): void {
    if (this.#closed) return;
    this.#makeRoom();
    this.#starts.set(entry.id, { entry, dueAtMs: performance.now() + START_DELAY_MS, settle: undefined });
    this.#startTimer ??= setTimeout(this.#onStartDue, START_DELAY_MS);
  }

  async confirm(id: string): Promise<void> {
    const giveUpAtMs = performance.now() + this.#config.waitMs;
    while (this.#starts.has(id) || this.#ends.has(id)) {
      const leftMs = giveUpAtMs - performance.now();
      if (leftMs <= 0) throw unavailable(notWrittenWithin(id, this.#config.waitMs), id);
      await withinMs(this.#flush(Number.POSITIVE_INFINITY), leftMs);
      if (!this.#health.didFail) continue;
      if (!this.#config.required) return;
      await new Promise((resolve) => setTimeout(resolve, CONFIRM_AGAIN_MS));
    }
  }

  commit(entry: AuditEntry): Promise<void> {
    this.#starts.delete(entry.id);
    this.#makeRoom();
    return new Promise((resolve, reject) => {
      const settle = (error: unknown) => (error === undefined ? resolve() : reject(error));
      const waiting: Waiting = { entry, dueAtMs: performance.now() + this.#config.waitMs, settle };
      if (this.#closed) return this.#lose(waiting, "the server is closed");
      this.#ends.set(entry.id, waiting);
      if (!this.#config.required && (this.#health.didFail || this.#health.isFailing)) this.#tell(waiting, undefined);
      else this.#expiryTimer ??= setTimeout(this.#onExpiry, this.#config.waitMs);
      this.#schedule();
    });
  }

  stats(): AuditStats {
    const [oldest] = this.#ends.values();
    const lagMs = oldest === undefined ? 0 : Math.max(0, performance.now() - (oldest.dueAtMs - this.#config.waitMs));
    return { waiting: this.#size(), written: this.#written, lost: this.#lost, lagMs, failing: this.#health.isFailing };
  }

  async close(): Promise<void> {
    const giveUpAtMs = performance.now() + this.#config.waitMs;
    while (this.#size() > 0 && performance.now() < giveUpAtMs) {
      await withinMs(this.#flush(Number.POSITIVE_INFINITY), giveUpAtMs - performance.now());
      if (this.#health.didFail) await new Promise((resolve) => setTimeout(resolve, CLOSE_AGAIN_MS));
    }
    this.#closed = true;
    clearTimeout(this.#startTimer);
    clearTimeout(this.#expiryTimer);
    for (const waiting of [...this.#starts.values(), ...this.#ends.values()])
      this.#lose(waiting, "the server closed before the row could be written");
  }

  #size(): number {
    return this.#starts.size + this.#ends.size;
  }

  readonly #onStartDue = () => {
    this.#startTimer = undefined;
    if (this.#starts.size > 0) this.#schedule();
  };

  /** Calls that waited long enough are told so; their entries stay, to be written when that is possible again. */
  readonly #onExpiry = () => {
    this.#expiryTimer = undefined;
    const nowMs = performance.now();
    for (const waiting of this.#ends.values()) {
      if (waiting.settle === undefined) continue;
      if (waiting.dueAtMs > nowMs) {
        this.#expiryTimer = setTimeout(this.#onExpiry, waiting.dueAtMs - nowMs);
        return;
      }
      const { id } = waiting.entry;
      this.#tell(waiting, unavailable(notWrittenWithin(id, this.#config.waitMs), id));
    }
  };

  #schedule(): void {
    if (this.#scheduled || this.#flushing !== undefined || this.#closed) return;
    this.#scheduled = true;
    let turns = 0;
    const flush = () => {
      if (!this.#health.didFail && this.#ends.size < GOOD_BATCH && ++turns < GATHER_TURNS) {
        setImmediate(flush);
        return;
      }
      this.#scheduled = false;
      void this.#flush(performance.now());
    };
    if (this.#health.didFail) setTimeout(flush, this.#health.retryMs).unref();
    else setImmediate(flush);
  }

  /** Writes the ends, and the starts that are due by `untilMs`. */
  #flush(untilMs: number): Promise<void> {
    this.#flushing ??= this.#writeBatch(untilMs).finally(() => {
      this.#flushing = undefined;
      if (this.#ends.size > 0 || (this.#health.didFail && this.#starts.size > 0)) this.#schedule();
      else if (this.#starts.size > 0) this.#startTimer ??= setTimeout(this.#onStartDue, START_DELAY_MS);
    });
    return this.#flushing;
  }

  async #writeBatch(untilMs: number): Promise<void> {
    const { batch, rows } = this.#rendered(this.#takeBatch(untilMs));
    if (batch.length === 0) return;
    try {
      const answer = this.#store.upsertExecutions(rows);
      this.#settle(batch, answer instanceof Promise ? await this.#health.watch(answer) : answer);
      this.#health.noteSuccess();
    } catch (error) {
      this.#health.noteFailure(error);
    }
  }

  /** Starts that are due, at most half of the batch, so that neither they nor the ends have to wait while more of the others come in. */
  #takeBatch(untilMs: number): Waiting[] {
    const batch: Waiting[] = [];
    for (const start of this.#starts.values()) {
      if (batch.length === MAX_BATCH / 2 || start.dueAtMs > untilMs) break;
      batch.push(start);
    }
    for (const end of this.#ends.values()) {
      if (batch.length === MAX_BATCH) break;
      batch.push(end);
    }
    return batch;
  }

  /** An entry that has no row would stop all others, for as long as it stays. */
  #rendered(entries: readonly Waiting[]): { readonly batch: readonly Waiting[]; readonly rows: readonly ExecutionRow[] } {
    const batch: Waiting[] = [];
    const rows: ExecutionRow[] = [];
    for (const waiting of entries) {
      try {
        rows.push(waiting.entry.render());
        batch.push(waiting);
      } catch (error) {
        this.#forget(waiting);
        this.#refuse(waiting, error, "an audit row could not be made");
      }
    }
    return { batch, rows };
  }

  #settle(batch: readonly Waiting[], refused: readonly RefusedRow[]): void {
    const errors = refused.length === 0 ? undefined : new Map(refused.map((row) => [row.id, row.error]));
    // What a database that answered too late wrote was given up.
    if (this.#closed) return;
    for (const waiting of batch) {
      this.#forget(waiting);
      if (errors?.has(waiting.entry.id)) {
        this.#refuse(waiting, errors.get(waiting.entry.id), "the database refused an audit row");
        continue;
      }
      this.#written++;
      waiting.settle?.(undefined);
    }
    if (this.#ends.size === 0) {
      clearTimeout(this.#expiryTimer);
      this.#expiryTimer = undefined;
    }
  }

  /** An end may have come in while the start of its call was written: that stays. */
  #forget(waiting: Waiting): void {
    const { id } = waiting.entry;
    if (this.#ends.get(id) === waiting) this.#ends.delete(id);
    if (this.#starts.get(id) === waiting) this.#starts.delete(id);
  }

  #tell(waiting: Waiting, error: unknown): void {
    const { settle } = waiting;
    waiting.settle = undefined;
    settle?.(this.#config.required ? error : undefined);
  }

  /** This row will never be written: the error goes to its call. */
  #refuse(waiting: Waiting, error: unknown, message: string): void {
    this.#lost++;
    this.#logger.error({ executionId: waiting.entry.id, err: error }, message);
    this.#tell(waiting, error);
  }

  #lose(waiting: Waiting, why: string): void {
    const { id } = waiting.entry;
    this.#lost++;
    this.#forget(waiting);
    this.#logger.error({ executionId: id }, `an audit row is lost: ${why}`);
    this.#tell(waiting, unavailable(`The row of execution ${id} is lost: ${why}.`, id));
  }

  /** Without `required`, the oldest entry makes room for the newest. */
  #makeRoom(): void {
    if (this.#config.required || this.#size() < MAX_WAITING) return;
    const oldest = this.#starts.values().next().value ?? this.#ends.values().next().value;
    if (oldest !== undefined) this.#lose(oldest, `${MAX_WAITING} entries wait`);
  }
}

async function withinMs(work: Promise<void>, limitMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, limitMs);
  });
  await Promise.race([work, limit]);
  clearTimeout(timer);
}

function notWrittenWithin(id: string, waitMs: number): string {
  return `The row of execution ${id} could not be written within ${waitMs} ms.`;
}

function unavailable(message: string, executionId?: string): SkillError {
  return new SkillError("AUDIT_UNAVAILABLE", message, { retryAfterMs: 1000, ...(executionId && { executionId }) });
}
