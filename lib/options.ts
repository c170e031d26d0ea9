import { SkillError } from "./errors.js";
import { MAX_TIMEOUT_MS, validateTimeoutMs } from "./executor/deadline.js";
import { consoleLogger, withoutThrowing } from "./logger.js";
import { suggestion } from "./nearest.js";
import { parseWorkerOptions, type WorkerConfig } from "./queue/options.js";
import { parseSandboxOptions, type SandboxOptions } from "./sandbox/options.js";
import { type MetricsConfig, type MetricsOptions, parseMetricsOptions } from "./telemetry/metrics.js";
import type { Logger, WorkerOptions } from "./types.js";

/** What `createSkills()` and `skills()` take. Every option may be left out; `undefined` means left out. */
export interface SkillsOptions {
  /** A SQLite file, `:memory:`, or a `postgres://` URL. Default `skills.db` in the working directory. */
  readonly database?: string | undefined;
  /** Where messages go, in pino's shape. Default: warnings and errors to the console. */
  readonly logger?: Logger | undefined;
  /** Time limit of a call that has none of its own or its skill's, 1 to 2,147,483,647 ms. Default 30,000. */
  readonly timeoutMs?: number | undefined;
  /** No call runs longer, whatever it or its skill asks for, in milliseconds. Default: no such limit. */
  readonly maxTimeoutMs?: number | undefined;
  /** The record of every call; `false` keeps none. */
  readonly audit?: AuditOptions | false | undefined;
  /** Containers: which engine, which images, how many at once. */
  readonly sandbox?: Omit<SandboxOptions, "logger" | "environment"> | undefined;
  /** Metrics in a registry of prom-client. Default: none. */
  readonly metrics?: MetricsOptions | undefined;
  /**
   * How this process works off the queue while the kit is open. Default 10 at a time; `false` leaves the queue to other processes, and to
   * `startWorker()`.
   */
  readonly worker?: WorkerOptions | false | undefined;
}

export interface AuditOptions {
  /** Whether calls are refused while their rows can't be written; when false, what is lost is counted and logged. Default true. */
  readonly required?: boolean | undefined;
  /** How long a finished call waits for its row, 1 to 600,000 ms. Default 5,000. */
  readonly waitMs?: number | undefined;
  /** Bytes of an input or output that a row keeps, 256 to 16,777,216. Default 65,536. */
  readonly maxBytes?: number | undefined;
  /** Days after which rows are deleted, from 0.01. Default: never. */
  readonly retentionDays?: number | undefined;
  /** What a committed row survives: the `process` (default), or loss of `power` too, which costs a disk flush per commit. */
  readonly durability?: "process" | "power" | undefined;
}

export interface SkillsConfig {
  readonly database: string;
  /** Whether `database` was left out, so that the file is made where nobody may expect it. */
  readonly isDefaultDatabase: boolean;
  readonly logger: Logger;
  readonly timeoutMs: number;
  readonly maxTimeoutMs: number;
  readonly sandbox: SandboxOptions;
  readonly audit: Required<{ [Key in Exclude<keyof AuditOptions, "retentionDays">]: NonNullable<AuditOptions[Key]> }> & {
    readonly enabled: boolean;
    readonly retentionDays: number | undefined;
  };
  readonly metrics: MetricsConfig | undefined;
  /** `undefined`: none in the background. */
  readonly worker: WorkerConfig | undefined;
}

const OPTIONS = {
  database: true,
  logger: true,
  timeoutMs: true,
  maxTimeoutMs: true,
  audit: true,
  sandbox: true,
  metrics: true,
  worker: true,
} satisfies Record<keyof SkillsOptions, true>;

const SANDBOX_OPTIONS = Object.keys({
  runtime: true,
  images: true,
  allowEnv: true,
  allowUnenforcedLimits: true,
  maxConcurrent: true,
  maxQueued: true,
  queueTimeoutMs: true,
  pullTimeoutMs: true,
  maxSlots: true,
  slotIdleMs: true,
  defaults: true,
  owner: true,
} satisfies Record<keyof NonNullable<SkillsOptions["sandbox"]>, true>);

const METRICS_OPTIONS = { registry: true, maxSkills: true } satisfies Record<keyof MetricsOptions, true>;

const AUDIT_OPTIONS = {
  required: true,
  waitMs: true,
  maxBytes: true,
  retentionDays: true,
  durability: true,
} satisfies Record<keyof AuditOptions, true>;

/**
 * Completes and checks the options.
 * @throws INVALID_OPTION naming the option, and for a misspelt one the nearest valid one
 */
export function parseSkillsOptions(options: SkillsOptions): SkillsConfig {
  checkKeys("options", options, Object.keys(OPTIONS));
  const {
    database = "skills.db",
    logger = consoleLogger,
    timeoutMs = 30_000,
    maxTimeoutMs = MAX_TIMEOUT_MS,
    audit = {},
    sandbox = {},
    metrics,
    worker = {},
  } = options;
  if (typeof database !== "string" || database === "" || database.includes("\0"))
    throw invalid('database must be a file, ":memory:" or a URL, as a string');
  checkLogger(logger);
  validateTimeoutMs(timeoutMs, "timeoutMs");
  validateTimeoutMs(maxTimeoutMs, "maxTimeoutMs");
  const isDefaultDatabase = options.database === undefined;
  return Object.freeze({
    database,
    isDefaultDatabase,
    logger: withoutThrowing(logger),
    timeoutMs,
    maxTimeoutMs,
    audit: parseAuditOptions(audit),
    sandbox: checkSandboxOptions(sandbox, withoutThrowing(logger)),
    metrics: metrics && parseMetrics(metrics),
    worker: worker === false ? undefined : parseWorkerOptions(worker),
  });
}

function checkSandboxOptions(options: NonNullable<SkillsOptions["sandbox"]>, logger: Logger): SandboxOptions {
  checkKeys("sandbox", options, SANDBOX_OPTIONS);
  parseSandboxOptions(options);
  return { ...options, logger };
}

function parseAuditOptions(options: AuditOptions | false): SkillsConfig["audit"] {
  if (options === false) return { ...parseAuditOptions({}), enabled: false };
  checkKeys("audit", options, Object.keys(AUDIT_OPTIONS));
  const { required = true, waitMs = 5_000, maxBytes = 65_536, retentionDays, durability = "process" } = options;
  if (typeof required !== "boolean") throw invalid("audit.required must be true or false");
  checkNumber("audit.waitMs", waitMs, 1, 600_000);
  checkNumber("audit.maxBytes", maxBytes, 256, 16_777_216);
  if (retentionDays !== undefined) checkNumber("audit.retentionDays", retentionDays, 0.01, 36_500);
  if (durability !== "process" && durability !== "power") throw invalid('audit.durability must be "process" or "power"');
  return { enabled: true, required, waitMs, maxBytes, retentionDays, durability };
}

function parseMetrics(options: MetricsOptions): MetricsConfig {
  checkKeys("metrics", options, Object.keys(METRICS_OPTIONS));
  return parseMetricsOptions(options);
}

/** @throws INVALID_OPTION for a value that is no object, or a key that is not valid */
export function checkKeys(what: string, value: unknown, valid: readonly string[]): void {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw invalid(`${what} must be an object`);
  for (const key of Object.keys(value)) {
    if (!valid.includes(key)) throw invalid(`${what} has no option "${key}"${suggestion(key, valid)}`, "");
  }
}

function checkLogger(logger: Logger): void {
  for (const method of ["debug", "info", "warn", "error"] as const) {
    if (typeof logger?.[method] !== "function")
      throw invalid(`logger must have the methods debug, info, warn and error, as pino has; ${method} is missing`);
  }
}

function checkNumber(name: string, value: unknown, min: number, max: number): void {
  if (typeof value === "number" && value >= min && value <= max) return;
  throw invalid(
    `${name} must be a number from ${min} to ${max}, got ${typeof value === "number" ? value : `a value of type ${typeof value}`}`,
  );
}

function invalid(message: string, end = "."): SkillError {
  return new SkillError("INVALID_OPTION", `${message}${end}`);
}
