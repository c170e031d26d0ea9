import { setMaxListeners } from "node:events";
import { type AbortSignalLike, SkillError } from "../lib/index.js";
import type { RequestContext } from "./request-context.js";
import type { StepOutcome } from "./step-outcome.js";
import { createStep, type SkillStep, type StepPlan, stepPlan } from "./step-plan.js";
import type { SkillsRequest } from "./types.js";

/**
 * A step that starts all its steps at once. The first failure aborts the others, and goes to `next` when all have settled; then none of
 * them leaves a result. A failure that a step's own `onError` takes care of is none. For `respond()` the last result is that of the step
 * that is declared last.
 *
 * @throws INVALID_OPTION when the route is declared: no step, something that is not a step, two steps with one result key
 * @since 0.1.0
 */
export function parallel(...steps: readonly SkillStep[]): SkillStep {
  const plans = steps.map(planOf);
  const keys = plans.flatMap((plan) => plan.keys);
  if (plans.length === 0)
    throw new SkillError("INVALID_OPTION", "parallel() needs at least one step, such as parallel(skill(a), skill(b)).");
  const twice = keys.find((key, index) => keys.indexOf(key) !== index);
  if (twice !== undefined) {
    throw new SkillError(
      "INVALID_OPTION",
      `Two steps of parallel() leave the result "${twice}"; give one of them another name with "as".`,
    );
  }
  return createStep({ keys, run: (context, request, signal) => runAll(plans, context, request, signal) });
}

function planOf(step: SkillStep, index: number): StepPlan {
  const plan: StepPlan | undefined = typeof step === "function" ? step[stepPlan] : undefined;
  if (plan !== undefined) return plan;
  throw new SkillError(
    "INVALID_OPTION",
    `Argument ${index + 1} of parallel() is not a step; it takes what skill() and parallel() return.`,
  );
}

async function runAll(
  plans: readonly StepPlan[],
  context: RequestContext,
  request: SkillsRequest,
  signal: AbortSignalLike,
): Promise<readonly StepOutcome[]> {
  const group = new AbortController();
  setMaxListeners(0, group.signal);
  const follow = () => group.abort(signal.reason);
  if (signal.aborted) follow();
  signal.addEventListener("abort", follow, { once: true });
  const failures: unknown[] = [];
  const outcomes = await Promise.all(
    plans.map(async (plan) => {
      try {
        return await plan.run(context, request, group.signal);
      } catch (error) {
        failures.push(error);
        group.abort(new SkillError("SKILL_CANCELLED", "Another step of the parallel group failed."));
        return [];
      }
    }),
  );
  signal.removeEventListener("abort", follow);
  if (failures.length > 0) throw failures[0];
  return outcomes.flat();
}
