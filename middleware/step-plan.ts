import type { IncomingMessage, ServerResponse } from "node:http";
import { type AbortSignalLike, isSkillError } from "../lib/index.js";
import { passable } from "./passable.js";
import { type RequestContext, requestContext } from "./request-context.js";
import type { StepOutcome } from "./step-outcome.js";
import type { Next, SkillsRequest } from "./types.js";

/** What a step does, apart from Express: `parallel()` runs plans of its own. */
export interface StepPlan {
  /** The results that it may leave. */
  readonly keys: readonly string[];
  run(context: RequestContext, request: SkillsRequest, signal: AbortSignalLike): Promise<readonly StepOutcome[]>;
}

/** Under this key a step carries its plan. */
export const stepPlan = Symbol("express-skills.step");

/** A skill, or a group of them, declared on a route. */
export interface SkillStep {
  (request: IncomingMessage, response: ServerResponse, next: Next): void;
  readonly [stepPlan]: StepPlan;
}

/**
 * Makes the middleware of a plan. It hands every failure to `next` itself, since Express 4 does not look at promises. When the client has
 * left there is nobody to answer, so the route ends there: `next` is not called, and the audit says `CANCELLED`.
 */
export function createStep(plan: StepPlan): SkillStep {
  function skillStep(request: IncomingMessage, _response: ServerResponse, next: Next): void {
    let context: RequestContext;
    try {
      context = requestContext(request);
    } catch (error) {
      next(error);
      return;
    }
    if (context.connection.aborted) return;
    plan.run(context, request as SkillsRequest, context.connection).then(
      (outcomes) => {
        context.steps.record(outcomes);
        next();
      },
      (error: unknown) => {
        if (!context.connection.aborted) next(passable(error));
        else logUnsent(context, error);
      },
    );
  }
  return Object.assign(skillStep, { [stepPlan]: plan });
}

function logUnsent(context: RequestContext, error: unknown): void {
  if (isSkillError(error) && error.code === "SKILL_CANCELLED") return;
  context.logger.debug({ requestId: context.requestId, err: error }, "A step failed after its client had left");
}
