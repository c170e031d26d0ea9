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
  /** Throws when the skill may not be started any more; asked before each attempt but the first. */
  checkAgain(): MaybePromise<void> | undefined;
  /** Told why it may not. */
  onRefused(thrown: unknown): void;
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
 * Invalid output, meant 4xx answers, refusals of skills it calls, and cancellations are never tried again. Where the skill was switched off in the
 * meantime the failed attempt was the last one, and its outcome is that of the call: DENIED is for what never ran.
 */
export async function runAttempts(work: Work): Promise<AttemptsResult> {
  for (let attempt = 1; ; attempt++) {
    if (work.deadline.reason !== undefined)
      return { outcome: toAborted(work.deadline.reason), attempts: attempt - 1, ended: undefined };
    const once = runOnce(work, attempt);
    const { outcome, ended } = once instanceof Promise ? await once : once;
    if (outcome.status === "SUCCESS" || !mayTryAgain(outcome, attempt, work)) return { outcome, attempts: attempt, ended };
    const end = (await waitBefore(attempt, work)) ?? (await checkBefore(outcome, work));
    if (end !== undefined) return { outcome: end, attempts: attempt, ended };
  }
}

/** No promise when the handler gives none. */
function runOnce(work: Work, attempt: number): MaybePromise<Ended> {
  try {
    const answer = toPromise(work.start(attempt));
    if (answer instanceof Promise) return whenEnded(work, answer);
    return endedNow(work, undefined) ?? { outcome: outcomeOf(work, answer), ended: undefined };
  } catch (thrown) {
    return endedNow(work, thrown) ?? { outcome: failureOf(work, thrown), ended: undefined };
  }
}

/** How a handler that kept the event loop until its time was over counts: the timer could not tell it. */
function endedNow(work: Work, thrown: unknown): Ended | undefined {
  const reason = work.deadline.check();
  if (reason === undefined) return undefined;
  work.onLateEnd(thrown);
  return { outcome: toAborted(reason), ended: undefined };
}

async function whenEnded(work: Work, handler: Promise<unknown>): Promise<Ended> {
  let outcome: Outcome;
  try {
    outcome = outcomeOf(work, await work.deadline.race(handler));
  } catch (thrown) {
    outcome = failureOf(work, thrown);
  }
  const reason = work.deadline.check();
  if (reason === undefined) return { outcome, ended: undefined };
  const hasEnded = work.graceMs !== undefined && (await endsWithin(handler, work.graceMs));
  return { outcome: toAborted(reason), ended: hasEnded ? undefined : watch(work, handler) };
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
function watch(work: Work, handler: Promise<unknown>): Promise<void> {
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

/**
 * The value, or a promise when it is a thenable. Only a promise whose `then` is the language's own is used as it is: any other may throw, call
 * back twice, or resolve to a further thenable.
 */
function toPromise(value: unknown): unknown {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return value;
  const { then } = value as { then?: unknown };
  if (typeof then !== "function") return value;
  if (then === Promise.prototype.then && value instanceof Promise) return value;
  return new Promise((resolve) => resolve(value));
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

/** Gives how the call ends when no further attempt may start. */
async function checkBefore(failed: Failure, work: Work): Promise<Failure | undefined> {
  try {
    const checking = work.checkAgain();
    if (checking !== undefined) await work.deadline.race(checking);
    return undefined;
  } catch (thrown) {
    if (work.deadline.reason !== undefined) return toAborted(work.deadline.reason);
    work.onRefused(thrown);
    return failed;
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
