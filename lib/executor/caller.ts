import { SkillError } from "../errors.js";
import { suggestion } from "../nearest.js";
import { type AbortSignalLike, type CallOptions, DEFAULT_CALLER } from "../types.js";
import { validateTimeoutMs } from "./deadline.js";

/** Who calls, complete and checked. */
export interface Caller {
  readonly apiKeyId: string;
  readonly sessionId: string | null;
  readonly requestId: string | null;
  readonly signal: AbortSignalLike | undefined;
  readonly timeoutMs: number | undefined;
  readonly idempotencyKey: string | null;
}

const KEYS = {
  apiKeyId: true,
  sessionId: true,
  requestId: true,
  signal: true,
  timeoutMs: true,
  idempotencyKey: true,
} satisfies Record<keyof CallOptions, true>;

/** Control characters, and halves of surrogate pairs: these are all stored as the same character, so two owners would become one. */
const UNSTORABLE = /[\p{Cc}\p{Cs}]/u;
const MAX_ID_LENGTH = 200;
const MAX_IDEMPOTENCY_KEY_LENGTH = 255;

/**
 * Completes the options of a call with what the calling skill's call says.
 * @throws INVALID_OPTION
 */
export function parseCallOptions(
  options: CallOptions,
  calling: Omit<Caller, "signal" | "timeoutMs" | "idempotencyKey"> | undefined,
): Caller {
  if (typeof options !== "object" || options === null)
    throw new SkillError("INVALID_OPTION", "The call options must be an object such as { apiKeyId, sessionId }.");
  for (const key of Object.keys(options)) {
    if (!Object.hasOwn(KEYS, key))
      throw new SkillError("INVALID_OPTION", `Unknown call option "${key}"${suggestion(key, Object.keys(KEYS))}.`);
  }
  const { signal, timeoutMs, idempotencyKey } = options;
  if (timeoutMs !== undefined) validateTimeoutMs(timeoutMs, "timeoutMs");
  if (signal !== undefined && !isSignal(signal))
    throw new SkillError("INVALID_OPTION", "The call option signal must be an AbortSignal.");
  return {
    apiKeyId: checkedId("apiKeyId", options.apiKeyId) ?? calling?.apiKeyId ?? DEFAULT_CALLER,
    sessionId: checkedId("sessionId", options.sessionId) ?? calling?.sessionId ?? null,
    requestId: checkedId("requestId", options.requestId) ?? calling?.requestId ?? null,
    signal,
    timeoutMs,
    idempotencyKey: checkedId("idempotencyKey", idempotencyKey, MAX_IDEMPOTENCY_KEY_LENGTH) ?? null,
  };
}

function isSignal(value: unknown): value is AbortSignalLike {
  const { aborted, addEventListener, removeEventListener } = Object(value) as Partial<AbortSignalLike>;
  return typeof aborted === "boolean" && typeof addEventListener === "function" && typeof removeEventListener === "function";
}

/** @throws INVALID_OPTION */
export function checkedId(name: string, value: unknown, maxLength = MAX_ID_LENGTH): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === "string" && value.length >= 1 && value.length <= maxLength && !UNSTORABLE.test(value)) return value;
  throw new SkillError(
    "INVALID_OPTION",
    `The option ${name} must be a string of 1 to ${maxLength} characters without control characters and halves of characters.`,
  );
}
