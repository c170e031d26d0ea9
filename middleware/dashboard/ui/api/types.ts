import type {
  ExecutionSandbox,
  ExecutionStatus,
  Fault,
  SandboxDescription,
  SandboxStats,
  Skill,
  SkillExecution,
  SkillHead,
} from "../../../../lib/index.js";

export type { ExecutionSandbox, ExecutionStatus, Fault, SandboxStats, Skill, SkillExecution, SkillHead };

export interface Page<Item> {
  readonly items: readonly Item[];
  readonly nextCursor: string | null;
}

export type Role = "admin" | "operator" | "caller";

/** Who the server takes the browser for. */
export interface Session {
  readonly apiKeyId: string;
  readonly role: Role;
}

/** In lists without `input`, `output` and `log`. */
export type Execution = SkillExecution<unknown>;

export type Counts = Readonly<Partial<Record<ExecutionStatus, number>>>;

export interface Percentiles {
  readonly p50Ms: number | null;
  readonly p95Ms: number | null;
  readonly p99Ms: number | null;
}

export interface SkillStats extends Percentiles {
  readonly name: string;
  readonly version: string;
  readonly count: number;
  readonly failed: number;
}

export type StatsBucket = "minute" | "hour" | "day";

export interface Stats {
  readonly count: number;
  /** Whether only the newest executions of the time were counted. */
  readonly isCut: boolean;
  readonly bucket: StatsBucket;
  readonly perMinute: number;
  readonly byStatus: Counts;
  readonly buckets: readonly ({ readonly at: string; readonly counts: Counts } & Percentiles)[];
  /** The most often used first; not all of them where there are many. */
  readonly skills: readonly SkillStats[];
}

/** `sandbox` is `null` without an engine that answers. */
export interface Engines {
  readonly sandbox: SandboxDescription | null;
  readonly stats: SandboxStats | null;
  readonly problem: { readonly code: string; readonly detail: string } | null;
}

export interface Progress {
  /** 0 to 1. */
  readonly fraction: number;
  readonly message: string | null;
}

export interface LogLine {
  readonly kind: "log" | "stderr";
  readonly at: string;
  readonly text: string;
  readonly fields: unknown;
}
