import type { SkillExecution, SkillsKit } from "../../lib/index.js";
import { noSuchExecution } from "./problems.js";
import { type ApiIdentity, hasRole } from "./roles.js";

/**
 * An execution that the caller may see: its own, or any for operators.
 * @throws EXECUTION_NOT_FOUND also for those of others, so that nobody learns which ids exist
 */
export async function findExecution(
  { executor }: SkillsKit,
  caller: Pick<ApiIdentity, "apiKeyId" | "role">,
  id: string,
): Promise<SkillExecution<unknown>> {
  const execution = await executor.getExecution(id);
  if (execution === undefined || !maySee(caller, execution)) throw noSuchExecution(id);
  return execution;
}

function maySee(caller: Pick<ApiIdentity, "apiKeyId" | "role">, { apiKeyId }: SkillExecution<unknown>): boolean {
  return hasRole(caller, "operator") || apiKeyId === caller.apiKeyId;
}
