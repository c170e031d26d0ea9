import { setTimeout as sleep } from "node:timers/promises";
import type { Fault } from "../errors.js";
import type { MaybePromise, RetryPolicy } from "../types.js";
import type { Deadline } from "./deadline.js";
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
  readonly deadline: Deadline;
  /** Starts the handler; `attempt` is 1 for the first. */
  start(attempt: number): unknown;
  validateOutput(output: unknown): readonly Fault[];
  /** The outcome of a handler that threw. Default `toFailure`. */
  readonly toFailure?: ((thrown: unknown) => Failure) | undefined;
  /** How long a handler may take to end after its signal aborted, for one that leaves something to be told. Default 0 ms. */
  readonly graceMs?: number | undefined;
  /** Told when a handler ends after its call did, with what it threw. */
  onLateEnd(thrown: unknown): void;
}

export interface AttemptsResult {
  readonly outcome: Outcome;
  readonly attempts: number;
  /** Settles when the last handler has ended, which may be after its call; never rejects. `undefined` when it has ended. */
  readonly ended: Promise<void> | undefined;
}

type Ended = Pick<AttemptsResult, "outcome" | "ended">;

/**
 * Runs the handler, again while it fails and the policy allows, until the signal aborts. A handler that ignores the signal is not waited for.
 * Invalid output, meant 4xx answers, refusals of skills it calls, and cancellations are never tried again.
 */
export async function runAttempts(work: Work): Promise<AttemptsResult> {
  for (let attempt = 1; ; attempt++) {
    if (work.deadline.reason !== undefined)
      return { outcome: toAborted(work.deadline.reason), attempts: attempt - 1, ended: undefined };
    const once = runOnce(work, attempt);
    const { outcome, ended } = once instanceof Promise ? await once : once;
    if (outcome.status === "SUCCESS" || !mayTryAgain(outcome, attempt, work)) return { outcome, attempts: attempt, ended };
    const aborted = await waitBefore(attempt, work);
    if (aborted !== undefined) return { outcome: aborted, attempts: attempt, ended };
  }
}

/** No promise when the handler gives none. */
function runOnce(work: Work, attempt: number): MaybePromise<Ended> {
  let handler: unknown;
  try {
    handler = work.start(attempt);
  } catch (thrown) {
    return { outcome: failureOf(work, thrown), ended: undefined };
  }
  return isPromise(handler) ? whenEnded(work, handler) : { outcome: outcomeOf(work, handler), ended: undefined };
}

async function whenEnded(work: Work, handler: PromiseLike<unknown>): Promise<Ended> {
  try {
    return { outcome: outcomeOf(work, await work.deadline.race(handler)), ended: undefined };
  } catch (thrown) {
    const { reason } = work.deadline;
    if (reason === undefined) return { outcome: failureOf(work, thrown), ended: undefined };
    const hasEnded = work.graceMs !== undefined && (await endsWithin(handler, work.graceMs));
    return { outcome: toAborted(reason), ended: hasEnded ? undefined : watch(work, handler) };
  }
}

function failureOf(work: Work, thrown: unknown): Failure {
  return (work.toFailure ?? toFailure)(thrown);
}

async function endsWithin(handler: PromiseLike<unknown>, limitMs: number): Promise<boolean> {
  const timer = new AbortController();
  const late = sleep(limitMs, false, { signal: timer.signal }).catch(() => false);
  const end = handler.then(
    () => true,
    () => true,
  );
  const hasEnded = await Promise.race([end, late]);
  timer.abort();
  return hasEnded;
}

/** Reports how a handler ends whose call has ended. */
function watch(work: Work, handler: PromiseLike<unknown>): Promise<void> {
  return new Promise((resolve) => {
    const report = (thrown: unknown) => {
      work.onLateEnd(thrown);
      resolve();
    };
    handler.then(() => report(undefined), report);
  });
}

function outcomeOf(work: Work, output: unknown): Outcome {
  const json = checkJson(output);
  if (!json.ok) return toInvalidOutput(work.skill, [json.fault]);
  const faults = work.validateOutput(json.value);
  return faults.length > 0 ? toInvalidOutput(work.skill, faults) : { status: "SUCCESS", output: json.value, text: json.text };
}

function isPromise(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";
}

function mayTryAgain(failure: Failure, attempt: number, work: Work): boolean {
  return failure.retryable && work.retry !== undefined && attempt <= work.retry.limit && work.deadline.reason === undefined;
}

async function waitBefore(attempt: number, work: Work): Promise<Failure | undefined> {
  try {
    await sleep(backoffMs(work.retry as RetryPolicy, attempt), undefined, { signal: work.deadline.signal });
    return undefined;
  } catch {
    return toAborted(work.deadline.signal.reason);
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
