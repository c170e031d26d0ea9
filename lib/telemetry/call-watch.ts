import type { ExecutionStatus } from "../types.js";

/** How a call ended, as far as operators are told: no input, no output, no text of an error. */
export interface CallEnd {
  /** The skill that was found, or what was asked for when none was; `undefined` when that could not be read. */
  readonly skill: { readonly name: string; readonly version: string } | undefined;
  readonly isFound: boolean;
  readonly outcome: ExecutionStatus;
  /** Code of the error; `_OTHER` when it has none; `null` on success. */
  readonly errorType: string | null;
  readonly attempts: number;
  /** `null` when the handler never ran. */
  readonly durationMs: number | null;
  /** Whether the answer is that of an earlier call with the same idempotency key. */
  readonly isReplay: boolean;
}

/** Watches one call. */
export interface CallWatch {
  /** The call waits for a place of its skill. */
  queue(): void;
  /** The call no longer waits, with or without a place. */
  leaveQueue(): void;
  /** Runs a handler so that spans made inside become children of the call's. */
  within<T>(work: () => T): T;
  end(end: CallEnd): void;
}

/** Where an executor tells what happens to its calls. */
export interface CallTelemetry {
  /** `undefined` when nobody listens: the call then does no work for it. */
  watch(executionId: string): CallWatch | undefined;
}
