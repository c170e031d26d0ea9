import { DEFAULT_CALLER, type MaybePromise, SkillError } from "../lib/index.js";
import type { RequestFunction, SkillsRequest } from "./types.js";

/** Who calls. */
export interface Identity {
  /** The API key whose skills the caller sees, besides those of `system`; 1 to 200 characters. */
  readonly apiKeyId: string;
  /** Goes into the audit; 1 to 200 characters. */
  readonly sessionId?: string | null | undefined;
}

/** Says who sent a request; `null` or `undefined` when nobody is known, which refuses the call. */
export type Identify = RequestFunction<MaybePromise<Identity | null | undefined>>;

/** The caller of every request when the application gives no `identify`. */
export const anybody: Identity = Object.freeze({ apiKeyId: DEFAULT_CALLER, sessionId: null });

/** Of a caller or a session. */
export const MAX_ID_LENGTH = 200;

/**
 * Asks the application who sent the request.
 * @throws UNAUTHENTICATED, INVALID_OPTION (a malformed identity), what `identify` throws
 */
export async function identifyCaller(identify: Identify, request: SkillsRequest): Promise<Identity> {
  const answer: unknown = await identify(request);
  if (answer === undefined || answer === null) {
    throw new SkillError("UNAUTHENTICATED", "The request does not say who sends it; skills run for identified callers only.");
  }
  if (typeof answer !== "object") throw malformed("a value that is not an object");
  const { apiKeyId, sessionId = null } = answer as { apiKeyId?: unknown; sessionId?: unknown };
  if (!isId(apiKeyId)) throw malformed("a malformed apiKeyId");
  if (sessionId !== null && !isId(sessionId)) throw malformed("a malformed sessionId");
  return Object.freeze({ apiKeyId, sessionId });
}

/** Whether a value can be the id of a caller or a session. */
export function isId(value: unknown): value is string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
  return typeof value === "string" && value !== "" && value.length <= MAX_ID_LENGTH && !/[\u0000-\u001f\u007f]/.test(value);
}

function malformed(what: string): SkillError {
  const want = `{ apiKeyId, sessionId? } with strings of 1 to ${MAX_ID_LENGTH} characters without control characters`;
  return new SkillError(
    "INVALID_OPTION",
    `identify(req) returned ${what}; it must return ${want}, or null for an unknown caller.`,
  );
}
