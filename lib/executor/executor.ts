import { SkillError } from "../errors.js";
import type { ReferenceLike } from "../registry/reference.js";
import type { SkillRegistry } from "../registry/registry.js";
import type { ExecutionFilter } from "../store/executions.js";
import type { Store } from "../store/store.js";
import type { CallOptions, Handler, Logger, MaybePromise, SkillExecution, SkillHandle } from "../types.js";
import type { Audit, AuditStats } from "./audit.js";
import { type CallResult, type CallRooms, performCall } from "./call.js";
import { parseCallOptions } from "./caller.js";
import { createContext, type NestedCalls } from "./context.js";
import { type Deadline, MAX_TIMEOUT_MS, validateTimeoutMs } from "./deadline.js";
import { Handlers, type RegisteredHandler } from "./handlers.js";
import {
  executionNotFound,
  type ListExecutionsFilter,
  readCount,
  readExecution,
  readExecutions,
  readRepeatable,
} from "./history.js";
import { createIdSource } from "./ids.js";
import { SkillLimits } from "./limits.js";
import { runningCall } from "./running.js";

export interface ExecutorConfig {
  readonly timeoutMs: number;
  readonly maxTimeoutMs: number;
  /** Bytes of an input or output that a row stores. */
  readonly maxBytes: number;
  readonly logger: Logger;
}

/** What an open kit gives its executor. */
export interface ExecutorRooms {
  /** The kit itself, for calls and facades inside a handler. */
  readonly kit: object;
  readonly registry: SkillRegistry;
  readonly store: Store;
  readonly audit: Audit;
  readonly instanceId: string;
}

/** Runs skills, each call within its time limit and with a row in the audit. */
export class SkillExecutor {
  readonly #config: ExecutorConfig;
  readonly #open: () => MaybePromise<ExecutorRooms>;
  readonly #handlers = new Handlers();
  readonly #limits = new SkillLimits();
  readonly #nextId = createIdSource();
  readonly #running = new Map<string, Deadline>();
  readonly #nested: NestedCalls;
  #rooms: CallRooms | undefined;
  #timeoutMs: number;
  /** Calls that no handler of this kit makes are refused. */
  #closing = false;
  /** Every call that starts is ended at once. */
  #graceOver = false;
  #closed = false;
  #active = 0;
  #onIdle: (() => void) | undefined;

  /** `open` is called before each call until it has answered. */
  constructor(config: ExecutorConfig, open: () => MaybePromise<ExecutorRooms>) {
    this.#config = config;
    this.#open = open;
    this.#timeoutMs = config.timeoutMs;
    this.#nested = {
      run: (reference: ReferenceLike, input: unknown) => this.run(reference as string, input),
      execute: (reference: ReferenceLike, input: unknown) => this.execute(reference as string, input),
    };
  }

  /**
   * Runs a skill and returns its execution. A handler that fails does not throw: look at `status`.
   * @throws the refusals (INVALID_REFERENCE SKILL_NOT_FOUND SKILL_DISABLED SKILL_OFF SKILLS_DISABLED INVALID_INPUT HANDLER_NOT_FOUND
   *   DEPTH_EXCEEDED SKILL_BUSY CIRCUIT_OPEN STORED_SKILL_INVALID IDEMPOTENCY_MISMATCH IDEMPOTENCY_IN_PROGRESS ANSWER_NOT_STORED), each
   *   with a row of status DENIED; AUDIT_UNAVAILABLE STORE_UNAVAILABLE SHUTTING_DOWN INVALID_OPTION without one
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

  /** One execution as stored (redacted and cut), or `undefined`. @since 0.1.0 */
  async getExecution(id: string): Promise<SkillExecution<unknown> | undefined> {
    return readExecution((await this.#opened()).store, id);
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
    const { row, input } = await readRepeatable((await this.#opened()).store, id);
    const options = { ...call, apiKeyId: row.api_key_id, sessionId: row.session_id };
    return this.execute(`${row.skill_name}@${row.skill_version}`, input, options);
  }

  /**
   * Ends a call that runs in this process, with status CANCELLED.
   * @throws EXECUTION_NOT_FOUND; EXECUTION_NOT_RUNNING when it has ended, or runs in another process
   * @since 0.1.0
   */
  async cancel(id: string): Promise<void> {
    const deadline = this.#running.get(id);
    if (deadline !== undefined) return deadline.abort(new SkillError("SKILL_CANCELLED", "The execution was cancelled."));
    const execution = await this.getExecution(id);
    if (execution === undefined) throw executionNotFound(id);
    const where = execution.finishedAt === null ? "runs in another process" : `has ended as ${execution.status}`;
    throw new SkillError("EXECUTION_NOT_RUNNING", `Execution ${id} ${where}.`, { executionId: id });
  }

  /** How the audit is doing; `undefined` before the kit is open. @since 0.1.0 */
  auditStats(): AuditStats | undefined {
    return this.#rooms?.audit.stats();
  }

  /** Refuses new calls, waits for those that run, and after `graceMs` ends them with SHUTTING_DOWN. */
  async close(graceMs: number): Promise<void> {
    this.#closing = true;
    this.#closed = this.#active === 0;
    if (this.#closed) return;
    const idle = new Promise<void>((resolve) => {
      this.#onIdle = resolve;
    });
    const timer = setTimeout(
      () => {
        this.#graceOver = true;
        for (const deadline of this.#running.values()) deadline.abort(endedByShutdown());
      },
      Math.min(graceMs, MAX_TIMEOUT_MS),
    );
    await idle;
    clearTimeout(timer);
  }

  async #call(reference: ReferenceLike, input: unknown, options: CallOptions): Promise<CallResult> {
    const calling = runningCall.getStore();
    const caller = parseCallOptions(options, calling);
    // A handler that ignored its signal may call on long after its call, and handlers of other kits are no part of what is waited for.
    if (this.#closed || (this.#closing && (calling === undefined || calling.kit !== this.#rooms?.kit)))
      throw new SkillError("SHUTTING_DOWN", "The server is shutting down; no new call is started.", { retryAfterMs: 1_000 });
    this.#active++;
    try {
      const opened = this.#opened();
      const rooms = opened instanceof Promise ? await opened : opened;
      return await performCall(rooms, { reference, input, caller, calling });
    } finally {
      if (--this.#active === 0 && this.#closing) {
        this.#closed = true;
        this.#onIdle?.();
      }
    }
  }

  #onStart(id: string, deadline: Deadline): void {
    this.#running.set(id, deadline);
    if (this.#graceOver) deadline.abort(endedByShutdown());
  }

  /** No promise once the kit is open and every definition has been tried. */
  #opened(): MaybePromise<CallRooms> {
    const opened = this.#open();
    return opened instanceof Promise ? opened.then((rooms) => this.#toCallRooms(rooms)) : this.#toCallRooms(opened);
  }

  #toCallRooms({ kit, registry, store, audit, instanceId }: ExecutorRooms): CallRooms {
    const { maxBytes, maxTimeoutMs, logger } = this.#config;
    this.#rooms ??= {
      kit,
      registry,
      store,
      audit,
      instanceId,
      maxBytes,
      maxTimeoutMs,
      logger,
      handlers: this.#handlers,
      limits: this.#limits,
      nextId: this.#nextId,
      defaultTimeoutMs: () => this.#timeoutMs,
      createContext: (call, skill, attempt) => createContext(call, skill, attempt, this.#nested, logger),
      onStart: (id, deadline) => this.#onStart(id, deadline),
      onEnd: (id) => this.#running.delete(id),
    };
    return this.#rooms;
  }
}

function endedByShutdown(): SkillError {
  return new SkillError("SHUTTING_DOWN", "The server is shutting down.");
}
