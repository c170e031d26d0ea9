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
  type DurationPercentiles,
  defaultSkills,
  type EnqueueCallOptions,
  type EnqueueOptions,
  type ExecutionEvents,
  type ExecutionFilter,
  type ExecutionLine,
  type ExecutionProgress,
  type ExecutionSandbox,
  type ExecutionStats,
  type ExecutionStatus,
  type ExecutionTrace,
  type ExecutionTree,
  type ExecutionWatcher,
  errorTable,
  type Fault,
  type FromJsonSchema,
  type Handler,
  type HandlerContext,
  isExactVersion,
  isSkillError,
  isSkillErrorCode,
  type ListExecutionsFilter,
  type Logger,
  type MaybePromise,
  type MetricsOptions,
  type MetricsRegistry,
  type Numbered,
  type ParsedReference,
  type PlainJsonSchema,
  parseReference,
  type ReferenceLike,
  type RegisterOptions,
  type Registry,
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
  type SkillFilter,
  type SkillHandle,
  type SkillHead,
  type SkillMode,
  type SkillPosition,
  SkillRegistry,
  type SkillsKit,
  type SkillsOptions,
  type SkillsWorker,
  type SkillUpdate,
  type SlotStats,
  type StandardSchema,
  type StartedCall,
  type StatsBucket,
  type StatsFilter,
  type StatusChange,
  type StatusCounts,
  SYSTEM_OWNER,
  sandboxRunner,
  skillExecutor,
  skillRegistry,
  suggestion,
  type UnregisterOptions,
  type WorkerOptions,
} from "../lib/index.js";
export type { SkillsApiOptions } from "./api/options.js";
export type { ApiIdentity, ApiRole, Authorize } from "./api/roles.js";
export { skillsApi } from "./api/router.js";
export { type SkillsDashboardOptions, skillsDashboard } from "./dashboard/dashboard.js";
export { enqueue } from "./enqueue.js";
export type { EnqueueStepOptions, ExecutionLocation, FromRequest } from "./enqueue-options.js";
export { type SkillErrorsOptions, skillErrors } from "./errors.js";
export type { Identify, Identity } from "./identity.js";
export { parallel } from "./parallel.js";
export type { Problem } from "./problem.js";
export type { RequestCallOptions, RequestEnqueueOptions, RequestSkills, SkillResults } from "./request-skills.js";
export { respond } from "./respond.js";
export { type SkillsMiddleware, type SkillsMiddlewareOptions, skills } from "./skills.js";
export { skill } from "./step.js";
export type { JsonInput, StepInputSource, StepOptions } from "./step-options.js";
export type { SkillStep } from "./step-plan.js";
export type { SkillsErrorHandler, SkillsHandler, SkillsRequest } from "./types.js";
