import {
  type BulkheadPolicy,
  BulkheadRejectedError,
  bulkhead,
  type CircuitBreakerPolicy,
  CircuitState,
  ConsecutiveBreaker,
  circuitBreaker,
  handleWhen,
  isBrokenCircuitError,
} from "cockatiel";
import { LRUCache } from "lru-cache";
import { SkillError } from "../errors.js";
import type { BreakerPolicy, Skill } from "../types.js";
import type { Deadline } from "./deadline.js";
import { isFailure, type Outcome } from "./outcome.js";

const MAX_SKILLS = 10_000;
const DEFAULT_HALF_OPEN_AFTER_MS = 10_000;
const BUSY_RETRY_AFTER_MS = 1_000;

interface Limits {
  readonly contentHash: string;
  readonly places: BulkheadPolicy | undefined;
  readonly circuit: CircuitBreakerPolicy | undefined;
}

/** The concurrency places and circuits of the skills that have such a policy, per process. */
export class SkillLimits {
  readonly #limits = new LRUCache<string, Limits>({ max: MAX_SKILLS });

  /**
   * Takes a place, waiting in the skill's queue when it has one. The function that is given back frees it; `undefined` when the skill has no
   * limit.
   * @throws SKILL_BUSY; the deadline's reason when it ends while waiting
   */
  takePlace(skill: Skill, deadline: Deadline): Promise<() => void> | undefined {
    const places = skill.concurrency && this.#of(skill).places;
    return places && waitForPlace(skill, places, deadline);
  }

  /**
   * Does `work` unless the skill's circuit is open, or half open with a probe running, and counts its outcome.
   * @throws CIRCUIT_OPEN; what `work` throws
   */
  guard(skill: Skill, work: () => Promise<Outcome>): Promise<Outcome> {
    const circuit = skill.breaker && this.#of(skill).circuit;
    if (circuit === undefined) return work();
    // The library would wait for the probe, longer than this call may take.
    if (circuit.state === CircuitState.HalfOpen) return Promise.reject(open(skill));
    return circuit.execute(work).catch((error: unknown) => {
      throw isBrokenCircuitError(error) ? open(skill, error) : error;
    });
  }

  #of(skill: Skill): Limits {
    const known = this.#limits.get(skill.id);
    if (known?.contentHash === skill.contentHash) return known;
    const { concurrency, breaker } = skill;
    const made: Limits = {
      contentHash: skill.contentHash,
      places: concurrency && bulkhead(concurrency.limit, concurrency.queue ?? 0),
      circuit: breaker && createCircuit(breaker),
    };
    this.#limits.set(skill.id, made);
    return made;
  }
}

async function waitForPlace(skill: Skill, places: BulkheadPolicy, deadline: Deadline): Promise<() => void> {
  const taken = new Promise<() => void>((resolve, reject) => {
    const hold = () => new Promise<void>((release) => resolve(release));
    places.execute(hold).catch(reject);
  });
  try {
    return await deadline.race(taken);
  } catch (error) {
    // Ended while it waited in the queue: the place may still be given to it later, and goes back at once.
    taken.then((release) => release()).catch(() => {});
    throw error instanceof BulkheadRejectedError ? busy(skill, error) : error;
  }
}

function createCircuit(policy: BreakerPolicy): CircuitBreakerPolicy {
  const circuit: CircuitBreakerPolicy = circuitBreaker(
    // A probe that was cancelled or refused proves nothing: it must not close the circuit.
    handleWhen(() => circuit.state === CircuitState.HalfOpen).orWhenResult((outcome) =>
      circuit.state === CircuitState.HalfOpen ? (outcome as Outcome).status !== "SUCCESS" : isFailure(outcome as Outcome),
    ),
    { halfOpenAfter: policy.halfOpenAfterMs ?? DEFAULT_HALF_OPEN_AFTER_MS, breaker: new ConsecutiveBreaker(policy.failures) },
  );
  return circuit;
}

function busy(skill: Skill, cause: unknown): SkillError {
  const { limit = 0, queue = 0 } = skill.concurrency ?? {};
  const message = `${skill.name}@${skill.version} is at its limit of ${limit} calls at once${queue > 0 ? ` with ${queue} waiting` : ""}; try again later.`;
  return new SkillError("SKILL_BUSY", message, { cause, retryAfterMs: BUSY_RETRY_AFTER_MS });
}

function open(skill: Skill, cause?: unknown): SkillError {
  const retryAfterMs = skill.breaker?.halfOpenAfterMs ?? DEFAULT_HALF_OPEN_AFTER_MS;
  const message = `${skill.name}@${skill.version} failed ${skill.breaker?.failures} times one after another and is paused; try again later.`;
  return new SkillError("CIRCUIT_OPEN", message, { cause, retryAfterMs });
}
