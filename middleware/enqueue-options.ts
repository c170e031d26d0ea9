import {
  checkKeys,
  type EnqueueOptions,
  type MaybePromise,
  parseReference,
  SkillError,
  type SkillExecution,
} from "../lib/index.js";
import { type JsonInput, type ParsedStep, parseInput, type StepInputSource } from "./step-options.js";
import type { RequestFunction, SkillsRequest } from "./types.js";

/** A value, or a function of the request that gives it and may be async. */
export type FromRequest<T> = T | { of(source: StepInputSource): MaybePromise<T | undefined> }["of"];

/** A function that says where an execution can be looked at. */
export type ExecutionLocation = { of(execution: SkillExecution<unknown>, request: SkillsRequest): string }["of"];

/** What an enqueueing step does other than the default. */
export interface EnqueueStepOptions<Input = JsonInput> {
  /** The input, or a function of the request that makes it and may be async. Default: as for `skill()`. */
  readonly input?: Input | ((source: StepInputSource) => unknown) | undefined;
  /** Whether the work is enqueued for a request; may be async. Otherwise the route goes on. */
  readonly when?: RequestFunction<MaybePromise<boolean>> | undefined;
  /** Time limit of the run, 1 to 2,147,483,647 ms. Default: the skill's, else the executor's. */
  readonly timeoutMs?: number | undefined;
  readonly runAt?: FromRequest<NonNullable<EnqueueOptions["runAt"]>> | undefined;
  readonly priority?: FromRequest<number> | undefined;
  readonly jobKey?: FromRequest<string> | undefined;
  /** The same caller with the same key, skill and input gets the execution that is there already. */
  readonly idempotencyKey?: FromRequest<string> | undefined;
  /**
   * Where the client can look at the execution: the path at which `skillsApi()` is mounted, or a function of the execution that gives the whole
   * address. Default `"/api"`.
   */
  readonly location?: string | ExecutionLocation | undefined;
}

/** A step, checked and complete. */
export interface ParsedEnqueueStep extends Pick<ParsedStep, "reference" | "input" | "when" | "timeoutMs"> {
  readonly runAt: FromRequest<NonNullable<EnqueueOptions["runAt"]>> | undefined;
  readonly priority: FromRequest<number> | undefined;
  readonly jobKey: FromRequest<string> | undefined;
  readonly idempotencyKey: FromRequest<string> | undefined;
  readonly location: ExecutionLocation;
}

const OPTIONS = Object.keys({
  input: true,
  when: true,
  timeoutMs: true,
  runAt: true,
  priority: true,
  jobKey: true,
  idempotencyKey: true,
  location: true,
} satisfies Record<keyof EnqueueStepOptions, true>);

/** @throws INVALID_REFERENCE, INVALID_OPTION */
export function parseEnqueueStep(
  target: string | { readonly reference: string },
  options: EnqueueStepOptions<unknown>,
): ParsedEnqueueStep {
  parseReference(target as string);
  const reference = typeof target === "string" ? target : target.reference;
  const where = `enqueue("${reference}")`;
  checkKeys(`options of ${where}`, options, OPTIONS);
  const { when, timeoutMs, runAt, priority, jobKey, idempotencyKey, location = "/api" } = options;
  if (when !== undefined && typeof when !== "function")
    throw new SkillError("INVALID_OPTION", `The option when of ${where} must be a function of the request.`);
  const input = parseInput(where, options.input);
  const found = parseLocation(where, location);
  return Object.freeze({ reference, input, when, timeoutMs, runAt, priority, jobKey, idempotencyKey, location: found });
}

function parseLocation(where: string, location: unknown): ExecutionLocation {
  if (typeof location === "function") return location as ExecutionLocation;
  if (typeof location !== "string" || !/^[\u0021-\u007e]*$/.test(location))
    throw new SkillError("INVALID_OPTION", `The option location of ${where} must be a path such as "/api", or a function.`);
  const mount = location.replace(/\/+$/, "");
  return ({ id }) => `${mount}/executions/${id}`;
}
