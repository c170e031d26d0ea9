import type {
  CallOptions,
  EnqueueOptions,
  SandboxRunner,
  SkillError,
  SkillExecution,
  SkillExecutor,
  SkillHandle,
  SkillRegistry,
} from "../lib/index.js";
import type { Identity } from "./identity.js";

/**
 * The types of `req.skills.results` by key. Empty here; an application adds its own:
 *
 * ```ts
 * declare module "express-skills" {
 *   interface SkillResults { summarizeText: { summary: string } }
 * }
 * ```
 *
 * @since 0.1.0
 */
// biome-ignore lint/suspicious/noEmptyInterface: applications augment it, which only an interface allows
export interface SkillResults {}

/** Limits of one call made through `req.skills`; who calls is the request's identity and can't be given here. */
export type RequestCallOptions = Pick<CallOptions, "timeoutMs" | "signal" | "idempotencyKey">;

/** When work for later runs, and within which limits. */
export type RequestEnqueueOptions = EnqueueOptions & Pick<CallOptions, "timeoutMs" | "idempotencyKey">;

/**
 * `req.skills`: the skills as this request's caller sees them.
 *
 * @since 0.1.0
 */
export interface RequestSkills {
  readonly registry: SkillRegistry;
  readonly executor: SkillExecutor;
  readonly sandbox: SandboxRunner;
  /** The caller. With an `identify` option it is `undefined` until `identity()` has been awaited once, which every step does. */
  readonly apiKeyId: string | undefined;
  /** The caller's session, `null` without one; known when `apiKeyId` is. */
  readonly sessionId: string | null | undefined;
  /** `req.id` if a middleware set it, else the header `x-request-id` (both: 1 to 128 visible ASCII characters), else a new UUID. */
  readonly requestId: string;
  /** Aborts when the client closes the connection before the response is finished; `reason` is a `SkillError` `SKILL_CANCELLED`. */
  readonly signal: AbortSignal;
  /** Outputs of the steps so far, by `as` or the skill's name. Has no prototype. */
  readonly results: SkillResults & Record<string, unknown>;
  /** Why steps with `onError: "continue"` failed, by `as` or the skill's name. Has no prototype. */
  readonly errors: Record<string, SkillError>;
  /**
   * Who calls; asks `identify` once per request.
   * @throws UNAUTHENTICATED, INVALID_OPTION (a malformed identity), what `identify` throws
   */
  identity(): Promise<Identity>;
  /**
   * Runs a skill as this caller, ended when the client leaves; returns its output.
   * @throws SkillError: a refusal, or the failure of the work; and what `identity()` throws
   */
  run<Input, Output>(handle: SkillHandle<Input, Output>, input: NoInfer<Input>, options?: RequestCallOptions): Promise<Output>;
  run<Output = unknown>(reference: string, input: unknown, options?: RequestCallOptions): Promise<Output>;
  /**
   * Like `run`, but returns the execution whatever its status.
   * @throws SkillError: refusals only; and what `identity()` throws
   */
  execute<Input, Output>(
    handle: SkillHandle<Input, Output>,
    input: NoInfer<Input>,
    options?: RequestCallOptions,
  ): Promise<SkillExecution<Output>>;
  execute<Output = Record<string, unknown>>(
    reference: string,
    input: unknown,
    options?: RequestCallOptions,
  ): Promise<SkillExecution<Output>>;
  /**
   * Has a skill run later as this caller, whether or not the client stays, and returns its execution, of status QUEUED.
   * @throws SkillError: what refuses it; and what `identity()` throws
   */
  enqueue<Input, Output>(
    handle: SkillHandle<Input, Output>,
    input: NoInfer<Input>,
    options?: RequestEnqueueOptions,
  ): Promise<SkillExecution<Output>>;
  enqueue<Output = Record<string, unknown>>(
    reference: string,
    input: unknown,
    options?: RequestEnqueueOptions,
  ): Promise<SkillExecution<Output>>;
  /**
   * The output of the latest step of this request that was declared with this handle (or with its exact `name@version`).
   * @throws RESULT_MISSING when there is none: the step was skipped, failed, or is not on this route
   */
  result<Output>(handle: SkillHandle<unknown, Output>): Output;
}

declare global {
  namespace Express {
    interface Request {
      /** Set by `skills()`. */
      skills: RequestSkills;
    }
  }
}
