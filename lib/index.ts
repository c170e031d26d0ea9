/** The public surface of everything that does not know Express. */

export {
  defaultSkills,
  SandboxRunner,
  SkillExecutor,
  SkillRegistry,
  sandboxRunner,
  skillExecutor,
  skillRegistry,
} from "./default.js";
export type { DefineOptions, DefineSkill, FromJsonSchema, PlainJsonSchema } from "./define.js";
export {
  errorTable,
  type Fault,
  isSkillError,
  isSkillErrorCode,
  SkillError,
  type SkillErrorCode,
  type SkillErrorOptions,
} from "./errors.js";
export type { AuditStats } from "./executor/audit.js";
export type {
  ExecutionEvents,
  ExecutionLine,
  ExecutionProgress,
  ExecutionTrace,
  ExecutionWatcher,
  Numbered,
  StatusChange,
} from "./executor/events.js";
export type { StartedCall } from "./executor/executor.js";
export type { FeedWatcher } from "./executor/feed.js";
export type { ExecutionTree, ListExecutionsFilter } from "./executor/history.js";
export type {
  DurationPercentiles,
  ExecutionStats,
  StatsBucket,
  StatsFilter,
  StatusCounts,
} from "./executor/statistics.js";
export { suggestion } from "./nearest.js";
export { type AuditOptions, checkKeys, type SkillsOptions } from "./options.js";
export type { SkillPosition } from "./registry/catalogue.js";
export { coerceStrings } from "./registry/coerce.js";
export type { SkillUpdate } from "./registry/definition.js";
export type { SkillFilter } from "./registry/filter.js";
export type { RegisterOptions, Registry, UnregisterOptions } from "./registry/public.js";
export { isExactVersion, type ParsedReference, parseReference, type ReferenceLike } from "./registry/reference.js";
export type { SandboxOptions } from "./sandbox/options.js";
export { createSkills, type SkillsKit } from "./skills.js";
export type { StandardSchema } from "./standard-schema.js";
export type { ExecutionFilter } from "./store/executions.js";
export type { MetricsOptions } from "./telemetry/metrics.js";
export type { MetricsRegistry } from "./telemetry/prom-client.js";
export {
  type AbortSignalLike,
  type BreakerPolicy,
  type CallOptions,
  type ConcurrencyPolicy,
  type ContainerEnvValue,
  type ContainerSpec,
  DEFAULT_CALLER,
  type EnforcedLimits,
  type EnqueueCallOptions,
  type EnqueueOptions,
  EXECUTION_STATUSES,
  type ExecutionSandbox,
  type ExecutionStatus,
  type Handler,
  type HandlerContext,
  type Logger,
  type MaybePromise,
  type RetryPolicy,
  type RunPolicy,
  type SandboxConfig,
  type SandboxDescription,
  type SandboxResult,
  type SandboxStats,
  type SchemaObject,
  type Skill,
  type SkillDefinition,
  type SkillExecution,
  type SkillHandle,
  type SkillHead,
  type SkillMode,
  type SkillsWorker,
  type SlotStats,
  SYSTEM_OWNER,
  type TriedEngine,
  type WorkerOptions,
} from "./types.js";
