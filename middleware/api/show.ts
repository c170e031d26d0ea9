import { errorTable, isSkillErrorCode, type Skill, type SkillExecution } from "../../lib/index.js";
import { type ApiIdentity, hasRole } from "./roles.js";

/** An execution without its input and output: what lists have, so that a page is never large. */
export type ExecutionSummary = Omit<SkillExecution<unknown>, "input" | "output">;

export function toSummary({ input: _input, output: _output, ...summary }: SkillExecution<unknown>): ExecutionSummary {
  return summary;
}

/**
 * What a caller sees of an execution. The text of an internal error is for operators; a caller gets what every occurrence of that error says.
 */
export function showExecution<T extends ExecutionSummary>(caller: Pick<ApiIdentity, "role">, execution: T): T {
  const { errorCode } = execution;
  if (errorCode === null || hasRole(caller, "operator")) return execution;
  const known = isSkillErrorCode(errorCode) ? errorTable[errorCode] : errorTable.SKILL_FAILED;
  return known.expose ? execution : { ...execution, errorMessage: known.title };
}

/** How a skill of others runs is not a caller's business: image, command and variables are left out. */
export function showSkill(caller: Pick<ApiIdentity, "role" | "apiKeyId">, skill: Skill): object {
  if (hasRole(caller, "operator") || skill.apiKeyId === caller.apiKeyId || !("container" in skill)) return skill;
  return { ...skill, container: null };
}
