import { SkillError } from "../../lib/index.js";

/** The same for what does not exist and for what belongs to somebody else. */
export function noSuchExecution(id: string): SkillError {
  return new SkillError("EXECUTION_NOT_FOUND", `There is no execution ${JSON.stringify(id.slice(0, 100))}.`);
}

export function noSuchSkill(name: string, version?: string): SkillError {
  const text = version === undefined ? name : `${name}@${version}`;
  return new SkillError("SKILL_NOT_FOUND", `There is no skill ${JSON.stringify(text.slice(0, 200))}.`);
}

export function invalidParameter(name: string, message: string): SkillError {
  return new SkillError("INVALID_REQUEST", `The request is not valid: the parameter ${name} ${message}.`, {
    faults: [{ pointer: `/${name}`, message }],
  });
}
