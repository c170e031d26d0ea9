import { SkillError } from "../errors.js";
import type { ReferenceLike } from "../registry/reference.js";
import type { SkillRegistry } from "../registry/registry.js";
import { requestCancel } from "../store/cancel-requests.js";
import type { ExecutionFilter } from "../store/executions.js";
import { cancelWaitingWork } from "../store/queued-work.js";
import type { QueuedWorkRow } from "../store/rows.js";
import type { Store } from "../store/store.js";
import { readTrace } from "../store/traces.js";
import type { CallTelemetry } from "../telemetry/call-watch.js";
import type {
  CallOptions,
  EnqueueCallOptions,
  EnqueueOptions,
  Handler,
  Logger,
  MaybePromise,
  SandboxRunner,
  Skill,
  SkillExecution,
  SkillHandle,
} from "../types.js";
import type { Audit, AuditStats } from "./audit.js";
import { type CallResult, type CallRooms, performCall, performTaken, type StartedWork } from "./call.js";
import { parseCallOptions } from "./caller.js";
import { CancelWatch } from "./cancel-watch.js";
import { type ContainerServer, createContainerHandler } from "./container.js";
import { createContext, type NestedCalls } from "./context.js";
import { validateTimeoutMs } from "./deadline.js";
import { enqueueCall } from "./enqueue.js";
import { ExecutionEvents, type SharedTrace } from "./events.js";
import { checkWatcher, ExecutionFeed, type FeedWatcher } from "./feed.js";
import { Gate } from "./gate.js";
import { Handlers, type RegisteredHandler } from "./handlers.js";
import {
  type ExecutionTree,
  executionNotFound,
  type ListExecutionsFilter,
  readCount,
  readExecution,
  readExecutions,
  readRepeatable,
  readTree,
} from "./history.js";
import { createIdSource } from "./ids.js";
import { SkillLimits } from "./limits.js";
import { type RunningCall, runningCall } from "./running.js";
import { type ExecutionStats, readStats, type StatsFilter } from "./statistics.js";

export interface ExecutorConfig {
  readonly timeoutMs: number;
  readonly maxTimeoutMs: number;
  /** Bytes of an input or output that a row stores. */
  readonly maxBytes: number;
  readonly telemetry: CallTelemetry;
  readonly logger: Logger;
  /** What handlers run programs in. */
  readonly sandbox: SandboxRunner;
  /** What does the work of container skills. */
  readonly containers: ContainerServer;
}

/** What an open kit gives its executor. */
export interface ExecutorRooms {
  /** The kit itself, for calls and facades inside a handler. */
  readonly kit: object;
  readonly registry: SkillRegistry;
  readonly store: Store;
  readonly audit: Audit;
  readonly instanceId: string;
  /** Told that work waits for a worker. */
  onEnqueue(): void;
}

/** A call that nothing refuses any more. */
export interface StartedCall {
  /** The id of its execution. */
  readonly id: string;
  /** Whether this is the answer to an earlier call with the same idempotency key. */
  readonly isReplay: boolean;
  /** Settles as `execute()` does. Needs no handler: a rejection that nobody looks at is no unhandled one. */
  readonly ended: Promise<SkillExecution<unknown>>;
  /**
   * Resolves when its row is committed, so that every process finds it, also after the end of this one; at once while it waits for one of its
   * skill's places, which only this process knows.
   * @throws AUDIT_UNAVAILABLE
   */
  stored(): Promise<void>;
}

/** Runs skills, each call within its time limit and with a row in the audit. */
export class SkillExecutor {
  /** What happens to the calls of this process while they run. @since 0.1.0 */
  readonly events = new ExecutionEvents();
  readonly #config: ExecutorConfig;
  readonly #open: () => MaybePromise<ExecutorRooms>;
  readonly #handlers: Handlers;
  readonly #gate = new Gate();
  readonly #limits = new SkillLimits();
  readonly #nextId = createIdSource();
  readonly #running = new Map<string, StartedWork>();
  readonly #enqueueing = new Set<string>();
  readonly #nested: NestedCalls;
  readonly #cancels: CancelWatch;
  readonly #feed: ExecutionFeed;
  #rooms: CallRooms | undefined;
  #timeoutMs: number;

  /** `open` is called before each call until it has answered. */
  constructor(config: ExecutorConfig, open: () => MaybePromise<ExecutorRooms>) {
    this.#config = config;
    this.#open = open;
    this.#timeoutMs = config.timeoutMs;
    this.#handlers = new Handlers((skill) => createContainerHandler(config.containers, skill));
    this.#cancels = new CancelWatch(
      () => this.#running.size > 0,
      (id) => this.#running.get(id)?.deadline?.abort(cancelled()),
      config.logger,
    );
    this.#feed = new ExecutionFeed(this.events, (id) => this.#running.has(id), config.logger);
    this.#nested = {
      run: (reference: ReferenceLike, input: unknown) => this.run(reference as string, input),
      execute: (reference: ReferenceLike, input: unknown) => this.execute(reference as string, input),
    };
  }

  /**
   * Runs a skill and returns its execution. A handler that fails does not throw: look at `status`. A version that is disabled, switched off or
   * removed while the call waits for a place is refused as it would be at the beginning; one that failed meanwhile is not tried again, and the
   * call ends as that attempt did.
   * @throws the refusals (INVALID_REFERENCE SKILL_NOT_FOUND SKILL_DISABLED SKILL_OFF SKILLS_DISABLED INVALID_INPUT HANDLER_NOT_FOUND
   *   DEPTH_EXCEEDED SKILL_BUSY CIRCUIT_OPEN STORED_SKILL_INVALID IDEMPOTENCY_MISMATCH IDEMPOTENCY_IN_PROGRESS ANSWER_NOT_STORED), each
   *   with a row of status DENIED; AUDIT_UNAVAILABLE SHUTTING_DOWN INVALID_OPTION without one; STORE_UNAVAILABLE
   * @since 0.1.0
   */
  execute<Input, Output>(
    reference: SkillHandle<Input, Output>,
    input: NoInfer<Input>,
    call?: CallOptions,
  ): Promise<SkillExecution<Output>>;
  execute<Output = Record<string, unknown>>(
    reference: string,
    input: unknown,
    call?: CallOptions,
  ): Promise<SkillExecution<Output>>;
  async execute(reference: ReferenceLike, input: unknown, call: CallOptions = {}): Promise<SkillExecution<unknown>> {
    return (await this.#call(reference, input, call)).execution;
  }

  /**
   * Starts a skill and does not wait for its end: for callers that need the execution's id while it runs.
   * @throws what `execute()` throws before the handler starts
   * @since 0.1.0
   */
  start(reference: ReferenceLike, input: unknown, call: CallOptions = {}): Promise<StartedCall> {
    return new Promise((resolve, reject) => {
      const onAdmitted = (id: string) =>
        queueMicrotask(() => resolve({ id, isReplay: false, ended, stored: () => this.#stored(id) }));
      const ended = this.#call(reference, input, call, onAdmitted).then(({ execution }) => execution);
      // Only what was not admitted gets to resolve here: the answer of an earlier call.
      ended.then(
        ({ id }) => queueMicrotask(() => resolve({ id, isReplay: true, ended, stored: () => this.#stored(id) })),
        reject,
      );
    });
  }

  async #stored(id: string): Promise<void> {
    await this.#running.get(id)?.stored();
  }

  /**
   * Runs a skill and returns its output.
   * @throws what `execute()` throws; SKILL_FAILED INVALID_OUTPUT SKILL_TIMEOUT SKILL_CANCELLED SHUTTING_DOWN when the work ended so
   * @since 0.1.0
   */
  run<Input, Output>(reference: SkillHandle<Input, Output>, input: NoInfer<Input>, call?: CallOptions): Promise<Output>;
  run<Output = unknown>(reference: string, input: unknown, call?: CallOptions): Promise<Output>;
  async run(reference: ReferenceLike, input: unknown, call: CallOptions = {}): Promise<unknown> {
    const { execution, error } = await this.#call(reference, input, call);
    if (error !== undefined) throw error;
    return execution.output;
  }

  /**
   * Has a skill run later, in whichever process on the database has a worker that can do it, and returns its execution, of status QUEUED. The
   * version is chosen and the input checked now; what is returned is committed and survives this process. With an `idempotencyKey` that an
   * earlier call used, it is that call's execution. Inside a handler it belongs to the same caller and session, but is no part of the call.
   * @throws what `execute()` throws before the handler starts, but for what only the process that runs it can tell (HANDLER_NOT_FOUND SKILL_BUSY
   *   CIRCUIT_OPEN); INVALID_OPTION when the audit is off; STORE_DRIVER_UNAVAILABLE on PostgreSQL without the package graphile-worker;
   *   AUDIT_UNAVAILABLE at once while the database is known to be away; STORE_UNAVAILABLE after about five seconds when it is not known yet, or
   *   when its answer was lost: the work may be stored all the same. With an `idempotencyKey` it can be enqueued again, and is stored once
   * @since 0.1.0
   */
  enqueue<Input, Output>(
    reference: SkillHandle<Input, Output>,
    input: NoInfer<Input>,
    call?: EnqueueCallOptions,
    options?: EnqueueOptions,
  ): Promise<SkillExecution<Output>>;
  enqueue<Output = Record<string, unknown>>(
    reference: string,
    input: unknown,
    call?: EnqueueCallOptions,
    options?: EnqueueOptions,
  ): Promise<SkillExecution<Output>>;
  async enqueue(
    reference: ReferenceLike,
    input: unknown,
    call: EnqueueCallOptions = {},
    options: EnqueueOptions = {},
  ): Promise<SkillExecution<unknown>> {
    const calling = runningCall.getStore();
    const caller = parseCallOptions(call, calling);
    return this.#admitted(calling, (rooms) => enqueueCall(rooms, { reference, input, caller, calling, options }));
  }

  /**
   * Does work that a worker of this kit has taken; `beforeEnd` is called before its end is committed, and that of each call made in it. Gives
   * why the work must be put back, or `undefined` when it has ended.
   * @throws AUDIT_UNAVAILABLE it has ended, and its row will say so later
   */
  async performWork(work: QueuedWorkRow, beforeEnd: (executionId: string) => Promise<void>): Promise<SkillError | undefined> {
    const { id, created_at: createdAt, skill_owner: skillOwner } = work;
    this.#enqueueing.delete(id);
    const caller = {
      apiKeyId: work.api_key_id,
      sessionId: work.session_id,
      requestId: work.request_id,
      signal: undefined,
      timeoutMs: work.timeout_ms ?? undefined,
      idempotencyKey: null,
    };
    const reference = `${work.skill_name}@${work.skill_version}`;
    const taken = { id, createdAt, skillOwner, beforeEnd };
    try {
      return await this.#admitted(undefined, (rooms) =>
        performTaken(rooms, { reference, input: JSON.parse(work.input), caller, calling: undefined, taken }),
      );
    } catch (error) {
      // Refused before it began.
      if (error instanceof SkillError && error.code === "SHUTTING_DOWN") return error;
      throw error;
    }
  }

  /** The executions that run in this process as part of these: themselves, and the calls made in them. */
  runningIn(rootIds: { has(id: string): boolean }): string[] {
    return [...this.#running].flatMap(([id, { rootId }]) => (rootIds.has(rootId) ? [id] : []));
  }

  /** Ends work that a worker of this kit has taken: the server stops. */
  shutDownWork(id: string): void {
    this.#running.get(id)?.deadline?.abort(endedByShutdown());
  }

  /** Whether this process has what does a skill's work; of containers, whether the skill is one. */
  hasHandler(skill: Skill): boolean {
    return this.#handlers.has(skill);
  }

  /** The names of the functions that this process has for skills. */
  handlerNames(): readonly string[] {
    return this.#handlers.names();
  }

  /** Whether `enqueue()` can be used: it needs the audit. @since 0.1.0 */
  async canEnqueue(): Promise<boolean> {
    return (await this.#opened()).audit.keepsRows;
  }

  /**
   * Names a function that skills refer to by `handler`. The last registration under a name counts.
   * @throws INVALID_OPTION
   * @since 0.1.0
   */
  registerHandler<Input = Record<string, unknown>, Output = unknown>(name: string, handler: Handler<Input, Output>): void {
    this.#handlers.set(name, { run: handler });
  }

  /** Like `registerHandler`, with a parser of the handler's own: what `define()` uses. */
  registerParsedHandler(name: string, handler: RegisteredHandler): void {
    this.#handlers.set(name, handler);
  }

  /**
   * Sets the time limit of calls that have none of their own or their skill's, in milliseconds. Default 30,000.
   * @throws INVALID_OPTION
   * @since 0.1.0
   */
  setTimeout(timeoutMs: number): void {
    validateTimeoutMs(timeoutMs, "timeoutMs");
    this.#timeoutMs = timeoutMs;
  }

  /** One execution as stored (redacted and cut), or `undefined`; one that just began as it will be stored. @since 0.1.0 */
  async getExecution(id: string): Promise<SkillExecution<unknown> | undefined> {
    const { store } = await this.#opened();
    return (await readExecution(store, id)) ?? this.#running.get(id)?.snapshot();
  }

  /**
   * Like `getExecution()`; `events` then also has what queued work said so far that another process runs: its last progress and lines.
   * @since 0.1.0
   */
  async followExecution(id: string): Promise<SkillExecution<unknown> | undefined> {
    const execution = await this.getExecution(id);
    if (execution === undefined || this.#running.has(id)) return execution;
    const trace = await (await this.#opened()).store.read(readTrace(id));
    if (trace !== undefined) this.events.absorb(id, JSON.parse(trace) as SharedTrace);
    return execution;
  }

  /**
   * Tells the status changes of all executions of every process on the database, until the function that it returns is called: those of this
   * process at once, those of others within about a second, as long as their clocks differ from this one's by no more than 30 s. What began
   * and ended within that second is told once, as ended. Changes after it has resolved are told; those in the moment before may be.
   * @throws INVALID_OPTION the watcher lacks one of its functions; STORE_UNAVAILABLE
   * @since 0.1.0
   */
  async followExecutions(watcher: FeedWatcher): Promise<() => void> {
    checkWatcher(watcher);
    return this.#feed.follow((await this.#opened()).store, watcher);
  }

  /**
   * One execution with the calls that its handler made, and theirs, oldest first; `undefined` when there is none. Reads at most 1,000 of the whole
   * tree that it belongs to, the first ones, and these without input and output.
   * @since 0.1.0
   */
  async getExecutionTree(id: string): Promise<(ExecutionTree & { readonly isCut: boolean }) | undefined> {
    const { store } = await this.#opened();
    const execution = await this.getExecution(id);
    return execution && readTree(store, execution);
  }

  /**
   * Executions by status, time and skill, with percentiles of their durations; computed in SQL, over the newest 100,000 of the time.
   * @throws INVALID_OPTION with status 400
   * @since 0.1.0
   */
  async executionStats(filter: StatsFilter = {}): Promise<ExecutionStats> {
    return readStats((await this.#opened()).store, filter);
  }

  /** Whether the execution runs in this process now. @since 0.1.0 */
  isRunning(id: string): boolean {
    return this.#running.has(id);
  }

  /** Executions as stored, newest first. @throws INVALID_OPTION @since 0.1.0 */
  async listExecutions(filter: ListExecutionsFilter = {}): Promise<SkillExecution<unknown>[]> {
    return readExecutions((await this.#opened()).store, filter);
  }

  /** How many executions there are. @since 0.1.0 */
  async countExecutions(filter: ExecutionFilter = {}): Promise<number> {
    return readCount((await this.#opened()).store, filter);
  }

  /**
   * Runs an execution's skill again: the same version, input, owner and session, as a call of its own.
   * @throws EXECUTION_NOT_FOUND; INPUT_NOT_STORED when its input was redacted, cut or refused; what `execute()` throws
   * @since 0.1.0
   */
  async retry(id: string, call: Pick<CallOptions, "signal" | "timeoutMs" | "requestId"> = {}): Promise<SkillExecution<unknown>> {
    return (await this.startRetry(id, call)).ended;
  }

  /** Like `retry()`, without waiting for its end. @since 0.1.0 */
  async startRetry(id: string, call: Pick<CallOptions, "signal" | "timeoutMs" | "requestId"> = {}): Promise<StartedCall> {
    const { row, input } = await readRepeatable((await this.#opened()).store, id);
    const options = { ...call, apiKeyId: row.api_key_id, sessionId: row.session_id };
    return this.start(`${row.skill_name}@${row.skill_version}`, input, options);
  }

  /**
   * Ends an execution with status CANCELLED: at once when it runs in this process or waits in the queue, within about a second when it runs in
   * another process.
   * @throws EXECUTION_NOT_FOUND; EXECUTION_NOT_RUNNING when it has ended, or the process that ran it is gone
   * @since 0.1.0
   */
  async cancel(id: string): Promise<void> {
    const started = this.#running.get(id);
    if (started?.deadline !== undefined) return started.deadline.abort(cancelled());
    const { store } = await this.#opened();
    const execution = await this.getExecution(id);
    if (execution === undefined) throw executionNotFound(id);
    if (execution.finishedAt === null) {
      const nowIso = new Date().toISOString();
      if (await store.write(() => cancelWaitingWork(id, nowIso, store.jobs?.schema))) return this.#tellStored(id);
      if (await store.write(() => requestCancel(id, nowIso))) return;
    }
    const { status } = (await this.getExecution(id)) ?? execution;
    const where = status === "RUNNING" ? "ran in a process that is gone" : `has ended as ${status}`;
    throw new SkillError("EXECUTION_NOT_RUNNING", `Execution ${id} ${where}.`, { executionId: id });
  }

  /** How the audit is doing; `undefined` before the kit is open. @since 0.1.0 */
  auditStats(): AuditStats | undefined {
    return this.#rooms?.audit.stats();
  }

  /** Refuses new calls, waits for those that run, and after `graceMs` ends them with SHUTTING_DOWN. */
  async close(graceMs: number): Promise<void> {
    await this.#gate.close(graceMs, () => {
      for (const { deadline } of this.#running.values()) deadline?.abort(endedByShutdown());
    });
    this.#cancels.stop();
    this.events.close();
  }

  async #call(
    reference: ReferenceLike,
    input: unknown,
    options: CallOptions,
    onAdmitted?: (id: string) => void,
  ): Promise<CallResult> {
    const calling = runningCall.getStore();
    const caller = parseCallOptions(options, calling);
    return this.#admitted(calling, (rooms) => performCall(rooms, { reference, input, caller, calling, onAdmitted }));
  }

  /** Does what a call asks for, unless the kit is closing, and has `close()` wait for it. */
  async #admitted<T>(calling: RunningCall | undefined, work: (rooms: CallRooms) => Promise<T>): Promise<T> {
    this.#gate.enter(calling !== undefined && calling.kit === this.#rooms?.kit);
    try {
      const opened = this.#opened();
      const rooms = opened instanceof Promise ? await opened : opened;
      return await work(rooms);
    } finally {
      this.#gate.leave();
    }
  }

  #onStart(id: string, started: StartedWork): void {
    this.#running.set(id, started);
    if (this.#rooms !== undefined) this.#cancels.start(this.#rooms.store, this.#rooms.instanceId);
    if (this.#gate.isGraceOver) started.deadline?.abort(endedByShutdown());
  }

  /** No promise once the kit is open and every definition has been tried. */
  #opened(): MaybePromise<CallRooms> {
    const opened = this.#open();
    return opened instanceof Promise ? opened.then((rooms) => this.#toCallRooms(rooms)) : this.#toCallRooms(opened);
  }

  async #tellStored(id: string): Promise<void> {
    const execution = this.events.isWatched ? await this.getExecution(id) : undefined;
    if (execution !== undefined) this.events.status(id, () => execution);
  }

  #toCallRooms({ kit, registry, store, audit, instanceId, onEnqueue }: ExecutorRooms): CallRooms {
    const { maxBytes, maxTimeoutMs, telemetry, logger, sandbox } = this.#config;
    this.#rooms ??= {
      kit,
      registry,
      store,
      audit,
      events: this.events,
      instanceId,
      maxBytes,
      maxTimeoutMs,
      telemetry,
      logger,
      handlers: this.#handlers,
      limits: this.#limits,
      nextId: this.#nextId,
      onEnqueue,
      enqueueing: this.#enqueueing,
      tellStored: (id) => this.#tellStored(id),
      defaultTimeoutMs: () => this.#timeoutMs,
      createContext: (call, skill, attempt) => createContext(call, skill, attempt, this.#nested, logger, sandbox, this.events),
      onStart: (id, started) => this.#onStart(id, started),
      onEnd: (id) => this.#running.delete(id),
    };
    return this.#rooms;
  }
}

function cancelled(): SkillError {
  return new SkillError("SKILL_CANCELLED", "The execution was cancelled.");
}

function endedByShutdown(): SkillError {
  return new SkillError("SHUTTING_DOWN", "The server is shutting down.");
}
