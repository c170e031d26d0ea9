import { errorTable, isSkillErrorCode, type Skill, type SkillErrorCode, type SkillExecution } from "../../lib/index.js";
import { type ApiIdentity, hasRole } from "./roles.js";

/** An execution without its input, output and log: what lists have, so that a page is never large. */
export type ExecutionSummary = Omit<SkillExecution<unknown>, "input" | "output" | "log">;

export function toSummary({ input: _input, output: _output, log: _log, ...summary }: SkillExecution<unknown>): ExecutionSummary {
  return summary;
}

/**
 * What a caller sees of an execution. The text of an internal error, what a container wrote to its standard error, and which image it had are
 * for operators; of the error a caller gets what every occurrence of it says.
 */
export function showExecution<T extends ExecutionSummary & { readonly log?: string }>(
  caller: Pick<ApiIdentity, "role">,
  execution: T,
): T {
  if (hasRole(caller, "operator")) return execution;
  const { sandbox: _sandbox, log: _log, ...shown } = execution;
  const { errorCode } = shown;
  if (errorCode === null) return shown as T;
  const known = isSkillErrorCode(errorCode) ? errorTable[errorCode] : errorTable.SKILL_FAILED;
  const isShown = known.expose && !OF_THE_DEFINITION.has(errorCode);
  return (isShown ? shown : { ...shown, errorMessage: known.title }) as T;
}

/** Shown to who registers a container, but a call that ended so is no fault of its caller. */
const OF_THE_DEFINITION: ReadonlySet<string> = new Set<SkillErrorCode>([
  "INVALID_IMAGE",
  "INVALID_COMMAND",
  "INVALID_ENV",
  "ENV_TOO_LARGE",
  "IMAGE_NOT_ALLOWED",
]);

/** How a skill of others runs is not a caller's business: image, command and variables are left out. */
export function showSkill(caller: Pick<ApiIdentity, "role" | "apiKeyId">, skill: Skill): object {
  if (hasRole(caller, "operator") || skill.apiKeyId === caller.apiKeyId || skill.container === null) return skill;
  return { ...skill, container: null };
}
