import { type AbortSignalLike, isSkillError, type SkillHandle } from "../lib/index.js";
import { stepInput } from "./input.js";
import type { RequestContext } from "./request-context.js";
import { type ParsedStep, parseStep, type StepOptions } from "./step-options.js";
import type { StepOutcome } from "./step-outcome.js";
import { createStep, type SkillStep } from "./step-plan.js";
import type { SkillsRequest } from "./types.js";

/**
 * A middleware that runs a skill. Its output goes to `req.skills.results[as]`, its failure to `next(error)`, unless `onError` says
 * otherwise. Works on Express 4 and 5, in `app.use`, on a Router and on a route. When the client leaves, the call is aborted and the
 * route ends: `next` is not called.
 *
 * Input, unless `input` is given: the parsed body, `{}` without a body; for GET, HEAD and DELETE the query and the path parameters
 * (parameters win), with strings converted to the types of the skill's schema on a copy.
 *
 * @throws INVALID_REFERENCE, INVALID_OPTION when the route is declared
 * @since 0.1.0
 */
export function skill<Input, Output>(
  handle: SkillHandle<Input, Output>,
  options?: StepOptions<NoInfer<Input>, NoInfer<Output>>,
): SkillStep;
export function skill(reference: string, options?: StepOptions): SkillStep;
export function skill(reference: string | SkillHandle<unknown, unknown>, options: StepOptions<unknown, unknown> = {}): SkillStep {
  const step = parseStep(reference, options);
  return createStep({ keys: [step.key], run: (context, request, signal) => runStep(step, context, request, signal) });
}

async function runStep(
  step: ParsedStep,
  context: RequestContext,
  request: SkillsRequest,
  signal: AbortSignalLike,
): Promise<readonly StepOutcome[]> {
  if (step.when !== undefined && !(await step.when(request))) return [];
  // Before the input: who may not call learns nothing about what the skill wants.
  const caller = context.caller ?? (await context.identity());
  const made = stepInput(step, context, request);
  const input = isPromise(made) ? await made : made;
  try {
    const call = context.callOptions(caller, signal, { timeoutMs: step.timeoutMs });
    const value = await context.executor.run<unknown>(step.reference, input, call);
    return [{ key: step.key, reference: step.reference, value }];
  } catch (error) {
    return [await recover(step, error, request, signal)];
  }
}

function isPromise(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}

async function recover(step: ParsedStep, error: unknown, request: SkillsRequest, signal: AbortSignalLike): Promise<StepOutcome> {
  // An aborted step did not fail by itself: its client left, or another step of its group failed.
  if (!isSkillError(error) || step.onError === "fail" || signal.aborted) throw error;
  if (step.onError === "continue") return { key: step.key, error };
  const value: unknown = await step.onError(error, request);
  return { key: step.key, reference: step.reference, value: value === undefined ? null : value };
}
