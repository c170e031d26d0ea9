import type { ExecutionRow } from "../store/rows.js";

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
  /** Age of the oldest end of a call that waits to be written, in milliseconds; 0 when none does. */
  readonly lagMs: number;
  /** Whether every flush of the last 100 ms or more failed, or one takes longer than a call waits: new calls are refused. */
  readonly failing: boolean;
}

/** Where calls note their states. */
export interface Audit {
  readonly keepsRows: boolean;
  /** @throws AUDIT_UNAVAILABLE when a row could not be written now: asked before a handler runs. */
  admit(): void;
  /** Notes that a call began. */
  put(entry: AuditEntry): void;
  /**
   * Waits until what was noted of a call last is committed, or given up.
   * @throws AUDIT_UNAVAILABLE after `waitMs`
   */
  confirm(id: string): Promise<void>;
  /**
   * Notes how a call ended and waits until that is committed.
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
  confirm: () => Promise.resolve(),
  commit: () => Promise.resolve(),
  stats: () => ({ waiting: 0, written: 0, lost: 0, lagMs: 0, failing: false }),
  close: () => Promise.resolve(),
});
