/** The package's main entry: the middleware, and everything of `express-skills/core`. */

export {
  type AbortSignalLike,
  type AuditOptions,
  type AuditStats,
  type BreakerPolicy,
  type CallOptions,
  type ConcurrencyPolicy,
  type ContainerEnvValue,
  type ContainerSpec,
  checkKeys,
  coerceStrings,
  createSkills,
  DEFAULT_CALLER,
  type DefineOptions,
  type DefineSkill,
  defaultSkills,
  type ExecutionFilter,
  type ExecutionSandbox,
  type ExecutionStatus,
  errorTable,
  type Fault,
  type FromJsonSchema,
  type Handler,
  type HandlerContext,
  isSkillError,
  isSkillErrorCode,
  type ListExecutionsFilter,
  type Logger,
  type MaybePromise,
  type ParsedReference,
  type PlainJsonSchema,
  parseReference,
  type ReferenceLike,
  type RetryPolicy,
  type RunPolicy,
  type SandboxConfig,
  type SandboxDescription,
  type SandboxOptions,
  type SandboxResult,
  SandboxRunner,
  type SandboxStats,
  type SchemaObject,
  type Skill,
  type SkillDefinition,
  SkillError,
  type SkillErrorCode,
  type SkillErrorOptions,
  type SkillExecution,
  SkillExecutor,
  type SkillHandle,
  type SkillHead,
  type SkillMode,
  SkillRegistry,
  type SkillsKit,
  type SkillsOptions,
  type SlotStats,
  type StandardSchema,
  SYSTEM_OWNER,
  sandboxRunner,
  skillExecutor,
  skillRegistry,
} from "../lib/index.js";
export { type SkillErrorsOptions, skillErrors } from "./errors.js";
export type { Identify, Identity } from "./identity.js";
export { parallel } from "./parallel.js";
export type { Problem } from "./problem.js";
export type { RequestCallOptions, RequestSkills, SkillResults } from "./request-skills.js";
export { respond } from "./respond.js";
export { type SkillsMiddleware, type SkillsMiddlewareOptions, skills } from "./skills.js";
export { skill } from "./step.js";
export type { JsonInput, StepInputSource, StepOptions } from "./step-options.js";
export type { SkillStep } from "./step-plan.js";
export type { SkillsErrorHandler, SkillsHandler, SkillsRequest } from "./types.js";
