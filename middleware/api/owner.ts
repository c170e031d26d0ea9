import { SkillError, type SkillHead, type SkillsKit, SYSTEM_OWNER } from "../../lib/index.js";
import { invalidParameter, noSuchSkill } from "./problems.js";
import { type ApiIdentity, hasRole } from "./roles.js";

type Caller = Pick<ApiIdentity, "apiKeyId" | "role">;

/**
 * Whose executions a request reads: everybody's (`undefined`) for operators who name nobody, the caller's own for callers.
 * @throws FORBIDDEN a caller that names somebody else
 */
export function readableOwner(caller: Caller, owner: string | undefined): string | undefined {
  if (hasRole(caller, "operator")) return owner;
  if (owner !== undefined && owner !== caller.apiKeyId) throw notYours(caller);
  return caller.apiKeyId;
}

/**
 * As whom a request acts: itself, or whom an admin names.
 * @throws FORBIDDEN
 */
export function actingOwner(caller: Caller, owner: string | undefined): string {
  if (owner !== undefined && owner !== caller.apiKeyId && !hasRole(caller, "admin")) throw notYours(caller);
  return owner ?? caller.apiKeyId;
}

/**
 * Whose skills a request may ask for: an operator anybody's, a caller its own and those of `system`.
 * @throws FORBIDDEN a caller that names somebody else
 */
export function checkSkillOwner(caller: Caller, owner: string | undefined): void {
  if (owner === undefined || owner === caller.apiKeyId || owner === SYSTEM_OWNER || hasRole(caller, "operator")) return;
  throw notYours(caller);
}

/**
 * The versions of a name, of one owner, newest first: those that the caller sees, or those of the owner that an operator names. An operator who
 * names none also finds a name that only one other owner has.
 * @throws SKILL_NOT_FOUND FORBIDDEN; INVALID_REQUEST when an operator has to say which owner
 */
export async function findVersions(
  { registry }: SkillsKit,
  caller: Caller,
  name: string,
  owner: string | undefined,
): Promise<readonly SkillHead[]> {
  checkSkillOwner(caller, owner);
  const isOperator = hasRole(caller, "operator");
  const seenBy = isOperator ? (owner ?? caller.apiKeyId) : caller.apiKeyId;
  const seen = await registry.getSkillVersions(name, seenBy);
  if (seen.length > 0 && (owner === undefined || seen[0]?.apiKeyId === owner)) return seen;
  if (!isOperator || owner !== undefined) throw noSuchSkill(name);
  const others = await registry.list({ name });
  const owners = new Set(others.map(({ apiKeyId }) => apiKeyId));
  if (owners.size > 1) throw invalidParameter("owner", "is needed: several owners have a skill of this name");
  if (others.length === 0) throw noSuchSkill(name);
  return others;
}

/** One of these versions. @throws as `findVersions` */
export async function findVersion(
  kit: SkillsKit,
  caller: Caller,
  { name = "", version = "" }: Readonly<Record<string, string>>,
  owner: string | undefined,
): Promise<SkillHead> {
  const heads = await findVersions(kit, caller, name, owner);
  const head = heads.find((one) => one.version === version);
  if (head === undefined) throw noSuchSkill(name, version);
  return head;
}

function notYours({ role }: Caller): SkillError {
  return new SkillError("FORBIDDEN", `The role ${role} may not name another owner here.`);
}
