import { setTimeout as sleep } from "node:timers/promises";
import type { Fault } from "../errors.js";
import type { RetryPolicy } from "../types.js";
import { untilAborted } from "./deadline.js";
import { checkJson } from "./json.js";
import { type Failure, type Outcome, toAborted, toFailure, toInvalidOutput } from "./outcome.js";

const DEFAULT_BACKOFF_MS = 100;
const DEFAULT_FACTOR = 2;
const DEFAULT_MAX_BACKOFF_MS = 30_000;

/** The work of one call: what the attempts need to know of it. */
export interface Work {
  /** `name@version`. */
  readonly skill: string;
  readonly retry: RetryPolicy | undefined;
  readonly signal: AbortSignal;
  /** Starts the handler; `attempt` is 1 for the first. */
  start(attempt: number): Promise<unknown>;
  validateOutput(output: unknown): readonly Fault[];
  /** Told when a handler ends after its call did, with what it threw. */
  onLateEnd(thrown: unknown): void;
}

export interface AttemptsResult {
  readonly outcome: Outcome;
  readonly attempts: number;
  /** Settles when the last handler has ended, which may be after its call; never rejects. */
  readonly ended: Promise<void>;
}

/**
 * Runs the handler, again while it fails and the policy allows, until the signal aborts. A handler that ignores the signal is not waited for.
 * Invalid output, meant 4xx answers, refusals of skills it calls, and cancellations are never tried again.
 */
export async function runAttempts(work: Work): Promise<AttemptsResult> {
  let ended = Promise.resolve();
  for (let attempt = 1; ; attempt++) {
    if (work.signal.aborted) return { outcome: toAborted(work.signal.reason), attempts: attempt - 1, ended };
    const handler = work.start(attempt);
    let settled = false;
    ended = handler.then(
      () => {
        if (settled) work.onLateEnd(undefined);
      },
      (thrown) => {
        if (settled) work.onLateEnd(thrown);
      },
    );
    const outcome = await outcomeOf(work, handler);
    settled = true;
    if (outcome.status === "SUCCESS" || !mayTryAgain(outcome, attempt, work)) return { outcome, attempts: attempt, ended };
    const aborted = await waitBefore(attempt, work);
    if (aborted !== undefined) return { outcome: aborted, attempts: attempt, ended };
  }
}

async function outcomeOf(work: Work, handler: Promise<unknown>): Promise<Outcome> {
  let output: unknown;
  try {
    output = await untilAborted(handler, work.signal);
  } catch (thrown) {
    return work.signal.aborted ? toAborted(work.signal.reason) : toFailure(thrown);
  }
  const json = checkJson(output);
  if (!json.ok) return toInvalidOutput(work.skill, [json.fault]);
  const faults = work.validateOutput(json.value);
  return faults.length > 0 ? toInvalidOutput(work.skill, faults) : { status: "SUCCESS", output: json.value, text: json.text };
}

function mayTryAgain(failure: Failure, attempt: number, work: Work): boolean {
  return failure.retryable && work.retry !== undefined && attempt <= work.retry.limit && !work.signal.aborted;
}

async function waitBefore(attempt: number, work: Work): Promise<Failure | undefined> {
  try {
    await sleep(backoffMs(work.retry as RetryPolicy, attempt), undefined, { signal: work.signal });
    return undefined;
  } catch {
    return toAborted(work.signal.reason);
  }
}

function backoffMs(policy: RetryPolicy, attempt: number): number {
  const {
    backoffMs = DEFAULT_BACKOFF_MS,
    factor = DEFAULT_FACTOR,
    maxBackoffMs = DEFAULT_MAX_BACKOFF_MS,
    jitter = true,
  } = policy;
  const waitMs = Math.min(maxBackoffMs, backoffMs * factor ** (attempt - 1));
  return jitter ? waitMs * (0.5 + Math.random() / 2) : waitMs;
}
