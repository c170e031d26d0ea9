import { checkKeys, type MaybePromise, parseReference, SkillError, type SkillHandle } from "../lib/index.js";
import type { SkillResults } from "./request-skills.js";
import type { FailureFunction, RequestFunction, SkillsRequest } from "./types.js";

/** Any JSON that is written down in a route's declaration. */
export type JsonInput = object | string | number | boolean | null;

/** What an `input` function gets. */
export interface StepInputSource {
  readonly req: SkillsRequest;
  /**
   * The parsed body, `{}` without one. Typed as an object since parsers make one, unless they are set up to take other values. Reading it
   * throws BODY_PARSER_MISSING or UNSUPPORTED_MEDIA_TYPE when a body was sent and nothing parsed it.
   */
  readonly body: Readonly<Record<string, unknown>>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly params: Readonly<Record<string, string | string[]>>;
  readonly results: SkillResults & Record<string, unknown>;
}

/** What a step does other than the default. */
export interface StepOptions<Input = JsonInput, Output = unknown> {
  /** The input, or a function of the request that makes it and may be async. */
  readonly input?: Input | ((source: StepInputSource) => unknown) | undefined;
  /** Key of the result. Default: the skill's name. */
  readonly as?: string | undefined;
  /** Whether the step runs for a request; may be async. A skipped step leaves no result. */
  readonly when?: RequestFunction<MaybePromise<boolean>> | undefined;
  /** Time limit of the call, 1 to 2,147,483,647 ms. Default: the skill's, else the executor's. */
  readonly timeoutMs?: number | undefined;
  /**
   * What happens when the call is refused or fails: `"fail"` (default) hands the error to `next`, `"continue"` puts it into
   * `req.skills.errors[as]`, a function's value becomes the result. An unknown caller, a missing body parser and what `input` or `when`
   * throw go to `next` in any case.
   */
  readonly onError?: "fail" | "continue" | FailureFunction<MaybePromise<Output>> | undefined;
}

/** A step, checked and complete. */
export interface ParsedStep {
  /** The reference's text; a handle has one too. */
  readonly reference: string;
  readonly key: string;
  /** Makes the input, or `undefined` for the default one. */
  readonly input: ((source: StepInputSource) => unknown) | undefined;
  readonly when: RequestFunction<MaybePromise<boolean>> | undefined;
  readonly timeoutMs: number | undefined;
  readonly onError: "fail" | "continue" | FailureFunction<MaybePromise<unknown>>;
}

const OPTIONS = Object.keys({
  input: true,
  as: true,
  when: true,
  timeoutMs: true,
  onError: true,
} satisfies Record<keyof StepOptions, true>);

const MAX_TIMEOUT_MS = 2 ** 31 - 1;

/** @throws INVALID_REFERENCE, INVALID_OPTION */
export function parseStep(target: string | SkillHandle<unknown, unknown>, options: StepOptions<unknown, unknown>): ParsedStep {
  const { name } = parseReference(target);
  const reference = typeof target === "string" ? target : target.reference;
  const where = `skill("${reference}")`;
  checkKeys(`options of ${where}`, options, OPTIONS);
  const { as: key = name, when, timeoutMs, onError = "fail" } = options;
  if (typeof key !== "string" || key === "") throw invalid(where, "as", "a text that is not empty");
  if (when !== undefined && typeof when !== "function") throw invalid(where, "when", "a function of the request");
  if (timeoutMs !== undefined && !isTimeoutMs(timeoutMs)) {
    throw invalid(where, "timeoutMs", `a whole number of milliseconds from 1 to ${MAX_TIMEOUT_MS}`);
  }
  if (onError !== "fail" && onError !== "continue" && typeof onError !== "function") {
    throw invalid(where, "onError", '"fail", "continue" or a function');
  }
  return Object.freeze({ reference, key, input: parseInput(where, options.input), when, timeoutMs, onError });
}

/** @throws INVALID_OPTION */
export function parseInput(where: string, input: unknown): ParsedStep["input"] {
  if (input === undefined) return undefined;
  if (typeof input === "function") return input as (source: StepInputSource) => unknown;
  let text: string | undefined;
  try {
    text = JSON.stringify(input);
  } catch (cause) {
    throw invalid(where, "input", "JSON, or a function that makes it", cause);
  }
  if (text === undefined) throw invalid(where, "input", "JSON, or a function that makes it");
  // A new copy for each request, so that no handler changes another one's input.
  return () => JSON.parse(text) as unknown;
}

function isTimeoutMs(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 1 && (value as number) <= MAX_TIMEOUT_MS;
}

function invalid(where: string, option: string, want: string, cause?: unknown): SkillError {
  return new SkillError("INVALID_OPTION", `The option ${option} of ${where} must be ${want}.`, { cause });
}
