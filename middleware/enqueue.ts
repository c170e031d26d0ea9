import type { IncomingMessage, ServerResponse } from "node:http";
import { SkillError, type SkillExecution, type SkillHandle } from "../lib/index.js";
import { type EnqueueStepOptions, type FromRequest, type ParsedEnqueueStep, parseEnqueueStep } from "./enqueue-options.js";
import { inputSource, stepInput } from "./input.js";
import { passable } from "./passable.js";
import { type RequestContext, requestContext } from "./request-context.js";
import { isClosed } from "./response-signal.js";
import type { StepInputSource } from "./step-options.js";
import type { Next, SkillsHandler, SkillsRequest } from "./types.js";

/**
 * A middleware that has a skill run later, and answers 202 once that is committed: with the execution's `id`, `status`, `skillName`,
 * `skillVersion` and `createdAt` as JSON, its address in `Location`, and in `Retry-After` when it makes sense to look there. The default input is that of `skill()`.
 * What refuses the work goes to `next`. Works on Express 4 and 5.
 *
 * @throws INVALID_REFERENCE, INVALID_OPTION when the route is declared
 * @since 0.1.0
 */
export function enqueue<Input>(handle: SkillHandle<Input, unknown>, options?: EnqueueStepOptions<NoInfer<Input>>): SkillsHandler;
export function enqueue(reference: string, options?: EnqueueStepOptions): SkillsHandler;
export function enqueue(
  reference: string | SkillHandle<unknown, unknown>,
  options: EnqueueStepOptions<unknown> = {},
): SkillsHandler {
  const step = parseEnqueueStep(reference, options);
  return function enqueueStep(request: IncomingMessage, response: ServerResponse, next: Next): void {
    enqueueFor(step, request as SkillsRequest, response).then(
      (isAnswered) => {
        if (!isAnswered) next();
      },
      (error: unknown) => next(passable(error)),
    );
  };
}

/** Gives false when the step is not for this request. */
async function enqueueFor(step: ParsedEnqueueStep, request: SkillsRequest, response: ServerResponse): Promise<boolean> {
  const context = requestContext(request);
  if (isClosed(response)) return true;
  if (step.when !== undefined && !(await step.when(request))) return false;
  // Before the input: who may not call learns nothing about what the skill wants.
  await context.identity();
  const input = await stepInput(step, context, request);
  const options = await readOptions(step, inputSource(context, request));
  const execution = await context.enqueue(step.reference, input, options);
  if (!isClosed(response)) answer(response, execution, locationOf(step, execution, request), retryAfterS(options.runAt));
  return true;
}

type EnqueueRequestOptions = NonNullable<Parameters<RequestContext["enqueue"]>[2]>;

async function readOptions(step: ParsedEnqueueStep, source: StepInputSource): Promise<EnqueueRequestOptions> {
  return {
    timeoutMs: step.timeoutMs,
    runAt: await resolved(step.runAt, source),
    priority: await resolved(step.priority, source),
    jobKey: await resolved(step.jobKey, source),
    idempotencyKey: await resolved(step.idempotencyKey, source),
  };
}

async function resolved<T extends string | number | Date>(
  value: FromRequest<T> | undefined,
  source: StepInputSource,
): Promise<T | undefined> {
  return typeof value === "function" ? value(source) : value;
}

/** @throws INVALID_OPTION */
function locationOf(step: ParsedEnqueueStep, execution: SkillExecution<unknown>, request: SkillsRequest): string {
  const location: unknown = step.location(execution, request);
  if (typeof location === "string" && /^[\u0021-\u007e]+$/.test(location)) return location;
  throw new SkillError("INVALID_OPTION", `The option location of enqueue("${step.reference}") must give an address as text.`);
}

function retryAfterS(runAt: Date | string | undefined): number {
  const waitMs = runAt === undefined ? 0 : new Date(runAt).getTime() - Date.now();
  return Math.max(1, Math.ceil(waitMs / 1_000));
}

function answer(response: ServerResponse, execution: SkillExecution<unknown>, location: string, retryS: number): void {
  const { id, status, skillName, skillVersion, createdAt } = execution;
  response.statusCode = 202;
  response.setHeader("Location", location);
  response.setHeader("Retry-After", String(retryS));
  // Express's own: it obeys the application's settings.
  (response as ServerResponse & { json(value: unknown): void }).json({ id, status, skillName, skillVersion, createdAt });
}
