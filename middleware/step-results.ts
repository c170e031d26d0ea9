import { SkillError } from "../lib/index.js";
import type { StepOutcome } from "./step-outcome.js";

/** What the steps of one request have left so far. */
export class StepResults {
  /** Outputs by key. Without a prototype, since keys are anybody's choice. */
  readonly results: Record<string, unknown> = Object.create(null);
  /** Why steps failed after which the route continued, by key. */
  readonly errors: Record<string, SkillError> = Object.create(null);
  readonly #byReference = new Map<string, unknown>();
  #lastKey: string | undefined;

  record(outcomes: readonly StepOutcome[]): void {
    for (const outcome of outcomes) {
      if (outcome.error !== undefined) {
        this.errors[outcome.key] = outcome.error;
        continue;
      }
      this.results[outcome.key] = outcome.value;
      this.#byReference.set(outcome.reference, outcome.value);
      this.#lastKey = outcome.key;
    }
  }

  /**
   * The result of the latest step that was declared with this text.
   * @throws RESULT_MISSING
   */
  ofReference(reference: unknown): unknown {
    if (typeof reference !== "string") {
      throw missing("req.skills.result() takes a handle from define(); other results are in req.skills.results.");
    }
    if (this.#byReference.has(reference)) return this.#byReference.get(reference);
    const why = "it was skipped, failed, is not on this route, or names the skill by a range (then read req.skills.results)";
    throw missing(`No step declared with ${reference} has a result: ${why}.`);
  }

  /**
   * The result under `key`, or the last one of a step.
   * @throws RESULT_MISSING
   */
  ofKey(key: string | undefined): unknown {
    const wanted = key ?? this.#lastKey;
    if (wanted === undefined) throw missing("No step of this route has a result: there is none, or each was skipped or failed.");
    if (wanted in this.results) return this.results[wanted];
    const failed = wanted in this.errors ? " because its step failed and the route continued" : "";
    throw missing(`There is no result "${wanted}"${failed}; results are: ${Object.keys(this.results).join(", ") || "none"}.`);
  }
}

function missing(message: string): SkillError {
  return new SkillError("RESULT_MISSING", message);
}
