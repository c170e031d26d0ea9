import { type MaybePromise, SkillError } from "../../lib/index.js";
import { isId, MAX_ID_LENGTH } from "../identity.js";
import type { RequestFunction, SkillsRequest } from "../types.js";

/** Each role may do what the ones after it may: `admin`, `operator`, `caller`. */
export type ApiRole = "admin" | "operator" | "caller";

/** Who uses the API, and as what. */
export interface ApiIdentity {
  /** The API key as whose owner it acts; 1 to 200 characters. */
  readonly apiKeyId: string;
  readonly role: ApiRole;
  /** Goes into the audit of what it runs; 1 to 200 characters. */
  readonly sessionId?: string | null | undefined;
}

/** Says who sent a request; `null` or `undefined` when nobody is known, which is answered with 401. */
export type Authorize = RequestFunction<MaybePromise<ApiIdentity | null | undefined>>;

const RANKS: Readonly<Record<ApiRole, number>> = { caller: 1, operator: 2, admin: 3 };

/**
 * Asks the application who sent the request.
 * @throws UNAUTHENTICATED, INVALID_OPTION (a malformed identity), what `authorize` throws
 */
export async function authorizeRequest(authorize: Authorize, request: SkillsRequest): Promise<Required<ApiIdentity>> {
  const answer: unknown = await authorize(request);
  if (answer === undefined || answer === null)
    throw new SkillError("UNAUTHENTICATED", "The request does not say who sends it, or nobody knows that caller.");
  const { apiKeyId, role, sessionId = null } = Object(answer) as { apiKeyId?: unknown; role?: unknown; sessionId?: unknown };
  if (!isId(apiKeyId)) throw malformed("a malformed apiKeyId");
  if (!isRole(role)) throw malformed("a malformed role");
  if (sessionId !== null && !isId(sessionId)) throw malformed("a malformed sessionId");
  return Object.freeze({ apiKeyId, role, sessionId });
}

/** Whether someone of `role` may do what needs `needed`. */
export function hasRole({ role }: Pick<ApiIdentity, "role">, needed: ApiRole): boolean {
  return RANKS[role] >= RANKS[needed];
}

function isRole(value: unknown): value is ApiRole {
  return typeof value === "string" && Object.hasOwn(RANKS, value);
}

function malformed(what: string): SkillError {
  const want = `{ apiKeyId, role } with a string of 1 to ${MAX_ID_LENGTH} characters and "admin", "operator" or "caller"`;
  return new SkillError("INVALID_OPTION", `authorize(req) returned ${what}; it must return ${want}, or null for nobody.`);
}
