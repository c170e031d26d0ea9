/**
 * The words that more than one room uses.
 *
 * - skill: one row: owner (`apiKeyId`), name, version, schema, and how it runs
 * - reference: what a caller writes: `name`, `name@1.2.3`, `name@^1.2`, `name@latest`, `@scope/name@~2.1`
 * - handle: a typed reference, returned by `define()`
 * - owner: the API key that a skill belongs to; everyone sees the skills of `system`
 * - handler: a function in this process, registered under a name
 * - container skill: a skill whose work is an image and a command: input on stdin, output on stdout
 * - slot: a container started ahead that waits for one input, serves it, and is thrown away
 * - execution: one call of one skill, a row in `skill_executions`
 * - instance: one running kit in one process
 */

export type MaybePromise<T> = T | Promise<T>;

/** The owner whose skills everyone sees. */
export const SYSTEM_OWNER = "system";
/** The caller when nobody says who calls. */
export const DEFAULT_CALLER = "default";

/** `off` never runs; `auto` is offered to a language model only when it is relevant; both `on` and `auto` run when called. */
export type SkillMode = "on" | "off" | "auto";

export interface RetryPolicy {
  /** Attempts after the first one, 0 to 100. */
  readonly limit: number;
  /** Wait before the first retry, in milliseconds. Default 100. */
  readonly backoffMs?: number | undefined;
  /** Each wait is this many times the one before. Default 2. */
  readonly factor?: number | undefined;
  /** The longest wait, in milliseconds. Default 30 000. */
  readonly maxBackoffMs?: number | undefined;
  /** Choose each wait at random between half of it and all of it. Default true. */
  readonly jitter?: boolean | undefined;
}

export interface ConcurrencyPolicy {
  /** Calls of this skill that run at once in this process, 1 to 10 000. */
  readonly limit: number;
  /** Calls that may wait for a place, 0 to 100 000. Default 0. */
  readonly queue?: number | undefined;
}

export interface BreakerPolicy {
  /** Failures one after another that open the circuit, 1 to 1 000. */
  readonly failures: number;
  /** How long the circuit stays open before one call may try again, in milliseconds. Default 10 000. */
  readonly halfOpenAfterMs?: number | undefined;
}

/** How a skill runs: part of its content, so immutable per version. */
export interface RunPolicy {
  /** Time limit of one call with all its attempts, in milliseconds. Default: the executor's. */
  readonly timeoutMs?: number | undefined;
  readonly retry?: RetryPolicy | undefined;
  readonly concurrency?: ConcurrencyPolicy | undefined;
  readonly breaker?: BreakerPolicy | undefined;
  /** Whether running it twice does no harm. Default false. */
  readonly idempotent?: boolean | undefined;
}

/** A JSON Schema (draft 2020-12, or draft-07 when `$schema` says so), an object. */
export type SchemaObject = { readonly [keyword: string]: unknown };

/** What `registry.register()` takes. */
export interface SkillDefinition extends RunPolicy {
  /** An optional `@scope/`, then a letter, then letters, digits, `_ . -`; at most 100 characters. */
  readonly name: string;
  /** Exact semantic version (semver 2.0.0) without build metadata. Default `1.0.0`. */
  readonly version?: string | undefined;
  /** At most 1,024 characters. */
  readonly description?: string | undefined;
  /** JSON Schema of the input. */
  readonly schema: SchemaObject;
  /** JSON Schema of the output. Default: any JSON. */
  readonly outputSchema?: SchemaObject | undefined;
  /** Name under which the executor finds the handler; or `container`: exactly one of the two. */
  readonly handler?: string | undefined;
  /** Image and command that do the work. */
  readonly container?: ContainerSpec | undefined;
  /** Owner. Default `system`. */
  readonly apiKeyId?: string | undefined;
  /** Default true. Applies when the version is first registered. */
  readonly enabled?: boolean | undefined;
  /** Default `on`. Applies when the version is first registered. */
  readonly mode?: SkillMode | undefined;
  /** At most 32 tags of at most 64 characters. */
  readonly tags?: readonly string[] | undefined;
  /** Where the definition comes from, at most 100 characters. */
  readonly sourceProvider?: string | undefined;
}

/** One registered version, complete. */
export interface Skill extends RunPolicy {
  readonly id: string;
  readonly apiKeyId: string;
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly schema: SchemaObject;
  readonly outputSchema: SchemaObject | null;
  /** `null` when a container does the work. */
  readonly handler: string | null;
  /** `null` when a handler does the work. */
  readonly container: ContainerSpec | null;
  readonly enabled: boolean;
  readonly mode: SkillMode;
  readonly tags: readonly string[];
  readonly sourceProvider: string | null;
  /** Engine of the schema's patterns: `linear` cannot be made slow; `native` is JavaScript's own, for the operator's schemas. */
  readonly patterns: "linear" | "native";
  /** Hash of everything that is immutable per version. */
  readonly contentHash: string;
  /** ISO 8601, UTC. */
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** Where a skill's schema marks a value as sensitive: property names to the marks below them, `*` for every item or property. */
export interface SensitiveMarks {
  /** The whole value here is sensitive. */
  readonly here?: boolean | undefined;
  readonly properties?: ReadonlyMap<string, SensitiveMarks> | undefined;
  readonly items?: SensitiveMarks | undefined;
}

/** What the catalogue holds in memory of a version: everything but the content. */
export interface SkillHead {
  readonly id: string;
  readonly apiKeyId: string;
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly enabled: boolean;
  readonly mode: SkillMode;
  readonly tags: readonly string[];
  readonly sourceProvider: string | null;
  readonly contentHash: string;
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** The shape of pino's methods that are used here. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export const EXECUTION_STATUSES = [
  "QUEUED",
  "RUNNING",
  "SUCCESS",
  "ERROR",
  "TIMEOUT",
  "CANCELLED",
  "INTERRUPTED",
  "DENIED",
] as const;

export type ExecutionStatus = (typeof EXECUTION_STATUSES)[number];

/** One call of one skill. `input` and `output` are complete in what `execute()` returns, redacted and cut in what is stored. */
export interface SkillExecution<Output = Record<string, unknown>> {
  /** UUIDv7 (RFC 9562): sorts by time. */
  readonly id: string;
  /** `null` when the call was refused before a skill was found. */
  readonly skillId: string | null;
  readonly skillName: string;
  /** The version that ran; what the caller wrote when none was found. */
  readonly skillVersion: string;
  readonly apiKeyId: string;
  readonly sessionId: string | null;
  readonly requestId: string | null;
  /** The execution whose handler made this call. */
  readonly parentId: string | null;
  /** The first execution of the tree. */
  readonly rootId: string;
  readonly status: ExecutionStatus;
  readonly input: unknown;
  readonly output: Output | null;
  readonly errorCode: string | null;
  readonly errorMessage: string | null;
  /** How often the handler was started. */
  readonly attempts: number;
  /** From the start of the handler to its end, with all attempts; `null` while it runs or when it never ran. */
  readonly durationMs: number | null;
  /** ISO 8601, UTC. */
  readonly createdAt: string;
  readonly finishedAt: string | null;
  /** How the skill's container ended, that of the last attempt; absent when none was started. */
  readonly sandbox?: ExecutionSandbox;
  /** The last of what the skill's containers wrote to their standard error; absent when nothing was. Text for operators, not for callers. */
  readonly log?: string;
}

/** What the sandbox saw of a container skill's container. */
export interface ExecutionSandbox {
  /** The engine: `docker` or `podman`. */
  readonly runtime: string;
  readonly image: string;
  /** The program's own exit code; `null` when it was ended, or answered before its end. */
  readonly exitCode: number | null;
  /** Whether the kernel killed a process of it for memory. */
  readonly oomKilled: boolean;
  /** `warm`: from a container that was started ahead. */
  readonly servedFrom: "warm" | "cold";
  /** From the container's launch to its program's start; 0 for a warm one, `null` when it never started. */
  readonly startupMs: number | null;
}

/** The part of an `AbortSignal` that is used here: any object with it will do. */
export interface AbortSignalLike {
  readonly aborted: boolean;
  readonly reason: unknown;
  addEventListener(type: "abort", listener: () => void, options?: { readonly once?: boolean }): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

/** Who calls, and within which limits. */
export interface CallOptions {
  /** The caller, who sees own skills and those of `system`. Default `default`, or the calling skill's. */
  readonly apiKeyId?: string | undefined;
  readonly sessionId?: string | null | undefined;
  readonly requestId?: string | null | undefined;
  /** Ends the call with status `CANCELLED`. */
  readonly signal?: AbortSignalLike | undefined;
  /** Time limit of this call, 1 to 2,147,483,647 ms. Default: the skill's, else the executor's. */
  readonly timeoutMs?: number | undefined;
  /**
   * A second call of the caller with the same key, skill and input returns the first one's stored execution instead of running again.
   * 1 to 255 characters.
   */
  readonly idempotencyKey?: string | undefined;
}

/** Who enqueues. Without a `signal`: `executor.cancel(id)` ends queued work. `timeoutMs` counts from the start of the run. */
export type EnqueueCallOptions = Omit<CallOptions, "signal">;

/** When work for later runs. */
export interface EnqueueOptions {
  /** Not before this time: a `Date`, or ISO 8601 with a time zone. Default, and for a time that has passed: at once. */
  readonly runAt?: Date | string | undefined;
  /** Work that is due runs in this order, the smallest number first: -1,000 to 1,000. Default 0. */
  readonly priority?: number | undefined;
  /** Work of the same owner that still waits under this key is cancelled, and this takes its place. 1 to 255 characters. */
  readonly jobKey?: string | undefined;
}

/** What works off the queue. */
export interface WorkerOptions {
  /** How much queued work it runs at once, 1 to 1,000. Default 10. */
  readonly concurrency?: number | undefined;
}

/** What `kit.startWorker()` gives. */
export interface SkillsWorker {
  /**
   * Takes no more work, and waits up to `graceMs` (default 10,000) for what runs. What is left then is ended: it is put back when it may run
   * twice, else it ends as CANCELLED. May be called again.
   */
  stop(options?: { readonly graceMs?: number | undefined }): Promise<void>;
}

/** A typed reference: what `define()` returns. */
export interface SkillHandle<Input = Record<string, unknown>, Output = unknown> {
  readonly name: string;
  readonly version: string;
  /** `name@version`. */
  readonly reference: string;
  /** Types only: never set. */
  readonly "~types"?: { readonly input: Input; readonly output: Output };
}

/** What a handler gets besides its input. */
export interface HandlerContext {
  readonly executionId: string;
  readonly skill: { readonly name: string; readonly version: string };
  readonly apiKeyId: string;
  readonly sessionId: string | null;
  readonly requestId: string | null;
  /** 1 for the first. */
  readonly attempt: number;
  /** When the time limit ends, in milliseconds since the epoch. */
  readonly deadline: number;
  /** Aborts at the deadline, on the caller's `signal`, when the client leaves, and at shutdown; `reason` is a `SkillError`. */
  readonly signal: AbortSignal;
  /** Runs another skill as this caller, within this deadline; returns its output or throws. */
  run<Input, Output>(reference: SkillHandle<Input, Output>, input: NoInfer<Input>): Promise<Output>;
  run<Output = unknown>(reference: string, input: unknown): Promise<Output>;
  /** Like `run`, but returns the execution whatever its status. Refusals throw. */
  execute<Input, Output>(reference: SkillHandle<Input, Output>, input: NoInfer<Input>): Promise<SkillExecution<Output>>;
  execute<Output = Record<string, unknown>>(reference: string, input: unknown): Promise<SkillExecution<Output>>;
  /** Runs programs in throw-away containers; they end with this call. */
  readonly sandbox: SandboxRunner;
  /** Says how far the work is: `fraction` is 0 to 1. */
  progress(fraction: number, message?: string): void;
  /** A line for the operator's log, with the execution's id. */
  log(message: string, fields?: object): void;
}

/** A function that does a skill's work. What it returns must be JSON. */
export type Handler<Input = Record<string, unknown>, Output = unknown> = (
  input: Input,
  context: HandlerContext,
) => MaybePromise<Output>;

/** Limits and settings of one container. Everything left out has the stated default. */
export interface SandboxConfig {
  /** Processors, 0.01 to what the engine has. Default 1. */
  readonly cpus?: number | undefined;
  /** Memory with swap in MiB, 6 to 1,048,576. Default 256. */
  readonly memoryMb?: number | undefined;
  /** Time limit of the program, counted from its start, in milliseconds. Default 30 000. */
  readonly timeoutMs?: number | undefined;
  /** Time limit of the container's start in milliseconds. Default 30 000. */
  readonly startTimeoutMs?: number | undefined;
  /** Whether the image's file system is read-only. Default true. */
  readonly readOnly?: boolean | undefined;
  /** `none` (default), `internal` (other containers of the same network, nothing else), or the name of a network of the engine. */
  readonly network?: string | undefined;
  /** Processes and threads, 1 to 32,768. Default 128. */
  readonly pidsLimit?: number | undefined;
  /** Size of each of `/tmp`, `/workspace`, `/dev/shm` and the image's declared volumes in MiB, 1 to 65,536. Default 64. */
  readonly tmpfsMb?: number | undefined;
  /** Numeric `uid` or `uid:gid`. Default `65534:65534`. */
  readonly user?: string | undefined;
  /** Absolute path. Default `/workspace`. */
  readonly workdir?: string | undefined;
  /** Bytes kept of each output stream, 1 to 104,857,600; a program that writes more is killed. Default 1 MiB. */
  readonly maxOutputBytes?: number | undefined;
  /** What the program reads on its standard input; nothing by default. */
  readonly stdin?: string | Uint8Array | AsyncIterable<Uint8Array> | undefined;
  /** Files that the program finds, read-only, under its working directory: relative path to content. At most 100 files, 10 MiB. */
  readonly files?: Readonly<Record<string, string | Uint8Array>> | undefined;
  /** Whether a missing image is fetched: `missing` (default), `never`, `always`. */
  readonly pull?: "missing" | "never" | "always" | undefined;
  /** OCI runtime that the engine must use, such as `runsc` (gVisor). Default: the engine's own. */
  readonly runtime?: string | undefined;
  /** Further flags of the engine's `run`, for operators: they can undo the protection. */
  readonly engineArgs?: readonly string[] | undefined;
  /** Ends the run: its result has `aborted`. */
  readonly signal?: AbortSignal | undefined;
}

/** How one container ended. */
export interface SandboxResult {
  /** The container's name. */
  readonly id: string;
  /** The engine: `docker` or `podman`. */
  readonly runtime: string;
  readonly image: string;
  /** The program's own exit code; `null` when a signal or we ended it. */
  readonly exitCode: number | null;
  /** The signal that ended the program, such as `SIGKILL`. */
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly stdoutTruncated: boolean;
  readonly stderrTruncated: boolean;
  /** From the program's start to its end; 0 when it never started. */
  readonly durationMs: number;
  /** From the container's launch to its program's start; 0 for a warm one, `null` when it never started. */
  readonly startupMs: number | null;
  /** Whether we ended it: time limit, abort or output limit. */
  readonly killed: boolean;
  readonly timedOut: boolean;
  readonly aborted: boolean;
  /** Whether the kernel killed a process of it for memory. */
  readonly oomKilled: boolean;
  /** `warm`: from a container that was started ahead. */
  readonly servedFrom: "warm" | "cold";
  /** What the engine had to say besides the program's own output. */
  readonly warnings: readonly string[];
}

/** Runs programs in containers that are thrown away. */
export interface SandboxRunner {
  /**
   * Runs a command in a new container of an image, and resolves when it has ended, however it ended: see the fields of the result. Inside a
   * handler the container ends with the handler's call.
   * @throws INVALID_IMAGE INVALID_COMMAND INVALID_ENV ENV_TOO_LARGE INVALID_OPTION before anything is started;
   *   SANDBOX_UNAVAILABLE SANDBOX_BUSY IMAGE_NOT_ALLOWED IMAGE_NOT_FOUND IMAGE_PULL_TIMEOUT START_FAILED COMMAND_NOT_FOUND
   * @since 0.1.0
   */
  run(
    image: string,
    command: readonly string[],
    env?: Readonly<Record<string, string>>,
    config?: SandboxConfig,
  ): Promise<SandboxResult>;
  /** Asks the engine what it is; a container of `image`, when given, reads its own limits. @throws SANDBOX_UNAVAILABLE */
  describe(image?: string): Promise<SandboxDescription>;
  /** What runs and what waits; `undefined` before the first use. */
  stats(): SandboxStats | undefined;
}

/** What a sandbox is working with. */
export interface SandboxDescription {
  /** The engine in use: `docker` or `podman`. */
  readonly engine: string;
  readonly version: string;
  /** What the engine's server says it is: Docker's program may speak to podman. */
  readonly server: string;
  readonly rootless: boolean;
  readonly remote: boolean;
  readonly cpus: number | null;
  /** Limits that a container found in force; `null` until one has run. */
  readonly limits: EnforcedLimits | null;
  readonly tried: readonly TriedEngine[];
  readonly warnings: readonly string[];
}

/** Whether each limit is in force, as a container read it; `null` where it could not tell. */
export interface EnforcedLimits {
  readonly memory: boolean | null;
  readonly swap: boolean | null;
  readonly cpu: boolean | null;
  readonly pids: boolean | null;
}

/** An engine that was asked, and why it was not taken; `null` when it was. */
export interface TriedEngine {
  readonly name: string;
  readonly reason: string | null;
}

export interface SandboxStats {
  readonly running: number;
  readonly queued: number;
  /** Containers that wait to be removed. */
  readonly removing: number;
  readonly slots: SlotStats;
}

/** How well the containers that are started ahead serve, since the sandbox was made. */
export interface SlotStats {
  /** Calls that found a slot. */
  readonly hits: number;
  readonly misses: {
    /** No slot was asked for before. */
    readonly first: number;
    /** Slots were starting. */
    readonly starting: number;
    /** All slots were taken. */
    readonly taken: number;
    /** Slots died or could not be started, and the next attempt waits. */
    readonly failing: number;
  };
  /** Slots that ended while they waited. */
  readonly idleDeaths: number;
  /** Slots that gave way to those of skills used more recently. */
  readonly evicted: number;
  readonly waiting: number;
  readonly starting: number;
}

/** The value of a container's variable: text, or the name of a variable of the server that the operator allowed. */
export type ContainerEnvValue = string | { readonly fromEnv: string };

/** A skill whose work is an image and a command. Its input is one JSON document and a newline on the standard input. */
export interface ContainerSpec
  extends Pick<
    SandboxConfig,
    "cpus" | "memoryMb" | "startTimeoutMs" | "network" | "pidsLimit" | "tmpfsMb" | "user" | "workdir" | "maxOutputBytes" | "pull"
  > {
  readonly image: string;
  readonly command: readonly string[];
  readonly env?: Readonly<Record<string, ContainerEnvValue>> | undefined;
  /** Relative path to text, read-only under the working directory. */
  readonly files?: Readonly<Record<string, string>> | undefined;
  /**
   * `exit` (default): the whole standard output is the answer and the exit code must be 0.
   * `line`: the first line of the standard output is the answer, given when it arrives.
   */
  readonly reply?: "exit" | "line" | undefined;
  /** `json` (default) or `text`. */
  readonly output?: "json" | "text" | undefined;
  /** Containers that are started ahead, 0 (default) to 64. */
  readonly warm?: number | undefined;
}
