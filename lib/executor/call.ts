import { isSkillErrorCode, SkillError } from "../errors.js";
import type { ReferenceLike } from "../registry/reference.js";
import type { RunnableSkill, SkillRegistry } from "../registry/registry.js";
import type { CallTelemetry, CallWatch } from "../telemetry/call-watch.js";
import type { HandlerContext, Logger, SkillExecution } from "../types.js";
import { type Admitted, admit, checkOwner, checkStillRunnable, findRunnable, parseInput } from "./admission.js";
import { type AttemptsResult, runAttempts } from "./attempts.js";
import { type CallEnd, CallRow, type RowRooms } from "./call-row.js";
import type { Caller } from "./caller.js";
import { containerGraceMs, toContainerFailure } from "./container.js";
import { Deadline } from "./deadline.js";
import type { Handlers } from "./handlers.js";
import { findEarlier, hashRequest } from "./idempotency.js";
import { checkJson, type JsonCheck } from "./json.js";
import type { SkillLimits } from "./limits.js";
import { messageOf, type Outcome, toAborted } from "./outcome.js";
import { type RunningCall, runningCall } from "./running.js";

/** What a call needs of the open kit. */
export interface CallRooms extends RowRooms {
  readonly kit: object;
  readonly registry: SkillRegistry;
  readonly handlers: Handlers;
  readonly limits: SkillLimits;
  readonly telemetry: CallTelemetry;
  readonly logger: Logger;
  readonly maxTimeoutMs: number;
  nextId(): string;
  defaultTimeoutMs(): number;
  /** The context that a handler gets. */
  createContext(running: RunningCall, skill: { name: string; version: string }, attempt: number): HandlerContext;
  /** Told that work waits for a worker. */
  onEnqueue(): void;
  /** Executions whose enqueueing has not been told yet; a worker that takes one removes it. */
  readonly enqueueing: Set<string>;
  /** Tells watchers of a change that the database made. */
  tellStored(id: string): Promise<void>;
  /** Told when a call starts waiting for its place, and when it has ended. */
  onStart(id: string, started: StartedWork): unknown;
  onEnd(id: string): unknown;
}

/** A call that was admitted and has not ended. */
export interface StartedWork {
  /** Of the tree that it belongs to. */
  readonly rootId: string;
  readonly deadline: Deadline | undefined;
  /** The execution as it would be stored now; `QUEUED` while it waits for its place. */
  snapshot(): SkillExecution<unknown>;
  /** Resolves when its row is committed, or at once while it waits for its place and has none. @throws AUDIT_UNAVAILABLE */
  stored(): Promise<unknown>;
}

export interface CallRequest {
  readonly reference: ReferenceLike;
  readonly input: unknown;
  readonly caller: Caller;
  /** The call whose handler makes this one, of any kit: its deadline and chain go on. */
  readonly calling: RunningCall | undefined;
  /** Told the execution's id once nothing refuses the call any more. */
  readonly onAdmitted?: ((id: string) => void) | undefined;
  /** Set when the call was enqueued before: its row is there, RUNNING. */
  readonly taken?: TakenFacts | undefined;
}

/** What is known of queued work that an instance has taken. */
export interface TakenFacts {
  readonly id: string;
  readonly createdAt: string;
  /** The owner of the version that was chosen when it was enqueued: the caller may have got own versions since. */
  readonly skillOwner: string;
  /** Called before its end is committed, and that of each call made in it, for what must be seen no later. Never rejects. */
  beforeEnd(executionId: string): Promise<void>;
}

export interface CallResult {
  readonly execution: SkillExecution<unknown>;
  /** What `run()` throws; `undefined` on success. */
  readonly error: SkillError | undefined;
}

/**
 * One call, from its admission to its committed row.
 * @throws what refuses it, once its DENIED row is committed; AUDIT_UNAVAILABLE
 */
export async function performCall(rooms: CallRooms, request: CallRequest): Promise<CallResult> {
  rooms.audit.admit();
  const call = new Call(rooms, request);
  try {
    const result = await call.perform();
    call.endWatch(undefined);
    return result;
  } catch (error) {
    try {
      if (error instanceof SkillError && !call.hasRow) await call.deny(error);
    } finally {
      call.endWatch(error);
    }
    throw error;
  }
}

/**
 * One call that was enqueued. Gives why it must be put back: it was refused for the moment, or shut down before or, where it may run twice,
 * in its course. Otherwise it has ended, and its row says how.
 * @throws AUDIT_UNAVAILABLE it has ended, and its row will say so later
 */
export async function performTaken(rooms: CallRooms, request: CallRequest): Promise<SkillError | undefined> {
  const call = new Call(rooms, request);
  try {
    rooms.audit.admit();
    await call.perform();
    call.endWatch(undefined);
    return undefined;
  } catch (thrown) {
    try {
      if (call.isPutBack) return thrown as SkillError;
      if (call.hasRow) throw thrown;
      const error = thrown instanceof SkillError ? thrown : new SkillError("SKILL_FAILED", messageOf(thrown), { cause: thrown });
      if (error.retryable) return error;
      await call.deny(error);
      return undefined;
    } finally {
      call.endWatch(thrown);
    }
  }
}

class Call implements StartedWork {
  readonly #rooms: CallRooms;
  readonly #request: CallRequest;
  readonly #id: string;
  readonly #sent: JsonCheck;
  readonly #row: CallRow;
  readonly #watch: CallWatch | undefined;
  /** The execution of an earlier call whose answer this one gives. */
  #replayed: SkillExecution<unknown> | undefined;
  #isWaiting = false;
  /** Whether queued work goes back into the queue. */
  isPutBack = false;
  deadline: Deadline | undefined;

  constructor(rooms: CallRooms, request: CallRequest) {
    this.#rooms = rooms;
    this.#request = request;
    this.#id = request.taken?.id ?? rooms.nextId();
    this.#sent = checkJson(request.input);
    this.#watch = rooms.telemetry.watch(this.#id);
    const { caller, reference, taken } = request;
    this.#row = new CallRow(rooms, {
      id: this.#id,
      createdAt: taken?.createdAt ?? new Date().toISOString(),
      isTaken: taken !== undefined,
      caller,
      parent: this.#parent(),
      reference,
      sent: this.#sent,
    });
  }

  /** Whether the call has a row: an error before that is a refusal. */
  get hasRow(): boolean {
    return this.#row.exists;
  }

  async perform(): Promise<CallResult> {
    const { registry, store } = this.#rooms;
    const { caller, calling, taken } = this.#request;
    const reference = registry.parse(this.#request.reference);
    this.#row.reference = reference;
    if (caller.idempotencyKey !== null) {
      if (!this.#rooms.audit.keepsRows)
        throw new SkillError("INVALID_OPTION", "An idempotencyKey needs the audit, which is off.");
      // What is not JSON is refused below.
      if (this.#sent.ok) {
        const requestHash = hashRequest(reference, this.#sent.text);
        this.#row.requestHash = requestHash;
        this.#replayed = await findEarlier(store, caller.apiKeyId, caller.idempotencyKey, requestHash);
        if (this.#replayed !== undefined) return replay(this.#replayed);
      }
    }
    const found = findRunnable(registry, reference, taken?.skillOwner ?? caller.apiKeyId, calling?.chain ?? []);
    const runnable = found instanceof Promise ? await found : found;
    if (taken !== undefined) checkOwner(runnable.skill, taken.skillOwner);
    this.#row.runnable = runnable;
    return this.#perform(runnable);
  }

  get rootId(): string {
    return this.#parent()?.rootId ?? this.#id;
  }

  snapshot(): SkillExecution<unknown> {
    return this.#row.snapshot();
  }

  stored(): Promise<unknown> {
    return this.#row.stored();
  }

  deny(error: SkillError): Promise<void> {
    return this.#row.deny(error);
  }

  /** Tells how the call ended: with `thrown`, or as its row says. */
  endWatch(thrown: unknown): void {
    if (this.#watch === undefined) return;
    const { status = "ERROR", errorCode = null, attempts = 0, durationMs = null } = this.#replayed ?? this.#row.ended ?? {};
    const { reference, runnable } = this.#row;
    const thrownType = thrown instanceof SkillError ? thrown.code : "_OTHER";
    this.#watch.end({
      skill: runnable?.skill ?? (reference && { name: reference.name, version: reference.range }),
      isFound: runnable !== undefined,
      outcome: status,
      errorType: thrown === undefined ? errorCode : thrownType,
      attempts,
      durationMs,
      isReplay: this.#replayed !== undefined,
    });
  }

  async #perform(runnable: RunnableSkill): Promise<CallResult> {
    const { skill } = runnable;
    const { caller, calling } = this.#request;
    const deadline = new Deadline(this.#timeoutMs(skill.timeoutMs));
    if (calling !== undefined) deadline.followDeadline(calling.deadline);
    if (caller.signal !== undefined) deadline.followSignal(caller.signal);
    const place = new Place();
    this.deadline = deadline;
    this.#rooms.onStart(this.#id, this);
    try {
      const admission = admit(runnable, this.#rooms.handlers, this.#sent);
      const admitted = admission instanceof Promise ? await deadline.race(admission) : admission;
      this.#request.onAdmitted?.(this.#id);
      const taken = this.#rooms.limits.takePlace(skill, deadline);
      if (taken !== undefined) place.release = await this.#waitForPlace(taken);
      const hasWaited = admission instanceof Promise || taken !== undefined;
      const checking = hasWaited ? checkStillRunnable(this.#rooms.registry, skill) : undefined;
      if (checking !== undefined) await deadline.race(checking);
      const end = await this.#runGuarded(admitted, deadline, place);
      return await this.#finish(end, this.#row.requestHash);
    } catch (error) {
      if (this.hasRow || error !== deadline.reason) throw error;
      this.#request.onAdmitted?.(this.#id);
      // Ended while its input was checked or it waited for a place: the handler never ran, so the idempotency key may be used again.
      return await this.#finish({ outcome: toAborted(error as SkillError), attempts: 0, durationMs: null }, null);
    } finally {
      deadline.clear();
      place.releaseWhenEnded();
      this.#rooms.onEnd(this.#id);
    }
  }

  async #waitForPlace(taken: Promise<() => void>): Promise<() => void> {
    this.#isWaiting = true;
    const release = await this.#watchQueue(taken);
    this.#isWaiting = false;
    return release;
  }

  #watchQueue(taken: Promise<() => void>): Promise<() => void> {
    if (this.#watch === undefined) return taken;
    this.#watch.queue();
    return taken.finally(() => this.#watch?.leaveQueue());
  }

  async #runGuarded(admitted: Admitted, deadline: Deadline, place: Place): Promise<CallEnd> {
    let end: CallEnd | undefined;
    await this.#rooms.limits.guard(admitted.runnable.skill, async () => {
      if (this.#row.requestHash === null) this.#row.begin();
      else await this.#row.beginCommitted(deadline);
      const startedAtMs = performance.now();
      const { outcome, attempts, ended } = await this.#attempt(admitted, deadline);
      place.ended = ended;
      end = { outcome, attempts, durationMs: performance.now() - startedAtMs };
      return outcome;
    });
    return end as unknown as CallEnd;
  }

  #attempt({ runnable, handler, input }: Admitted, deadline: Deadline): Promise<AttemptsResult> {
    const { skill } = runnable;
    const { logger, createContext } = this.#rooms;
    const name = `${skill.name}@${skill.version}`;
    const running = this.#running(name, deadline);
    const run = handler.run as (input: unknown, context: HandlerContext) => unknown;
    const start = (attempt: number) =>
      runningCall.run(running, () => {
        const context = createContext(running, skill, attempt);
        if (attempt === 1) return run(input, context);
        // A handler may have changed its input: each further attempt gets what the caller sent.
        return Promise.resolve(parseInput(runnable, handler, JSON.parse(this.#row.sentText ?? "null"))).then((again) => {
          if (deadline.reason !== undefined) throw deadline.reason;
          return run(again.input, context);
        });
      });
    const watch = this.#watch;
    return runAttempts({
      skill: name,
      retry: skill.retry,
      deadline,
      validateOutput: runnable.validateOutput,
      ...(handler.isContainer && { toFailure: toContainerFailure, graceMs: containerGraceMs }),
      checkAgain: () => checkStillRunnable(this.#rooms.registry, skill),
      onRefused: (error) => {
        const fields = { executionId: this.#id, requestId: running.requestId, skill: name, err: error };
        logger.warn(fields, "a call that failed was not tried again: its skill may not run any more");
      },
      start: watch === undefined ? start : (attempt) => watch.within(() => start(attempt)),
      onLateEnd: (thrown) => {
        const fields = {
          executionId: this.#id,
          requestId: running.requestId,
          skill: name,
          ...(thrown !== undefined && { err: thrown }),
        };
        logger.warn(fields, thrown === undefined ? "a handler ended after its call" : "a handler failed after its call");
      },
    });
  }

  async #finish(end: CallEnd, requestHash: string | null): Promise<CallResult> {
    const { taken } = this.#request;
    if (taken !== undefined) this.#throwIfPutBack(end.outcome, end.attempts);
    const storeTrace = this.#storeTrace;
    if (storeTrace !== undefined) await storeTrace(this.#id);
    const error = end.outcome.error && ofExecution(end.outcome.error, this.#id);
    return { execution: await this.#row.finish(end, error, requestHash), error };
  }

  /** Queued work may wait for its place as long as it takes, and a server that stops leaves to others what has not begun or may run twice. */
  #throwIfPutBack({ error }: Outcome, attempts: number): void {
    const isShutDown = error?.code === "SHUTTING_DOWN" && (attempts === 0 || this.#row.runnable?.skill.idempotent === true);
    this.isPutBack = isShutDown || (this.#isWaiting && error?.code === "SKILL_TIMEOUT");
    if (this.isPutBack) throw error;
  }

  /** Of queued work and the calls made in it. */
  get #storeTrace(): ((executionId: string) => Promise<void>) | undefined {
    return this.#request.taken?.beforeEnd ?? this.#parent()?.beforeEnd;
  }

  #timeoutMs(ofSkill: number | undefined): number {
    const { caller, calling } = this.#request;
    const own = caller.timeoutMs ?? ofSkill ?? this.#rooms.defaultTimeoutMs();
    const leftMs = calling === undefined ? Number.POSITIVE_INFINITY : calling.deadline.endsAtMs - performance.now();
    return Math.max(0, Math.min(own, leftMs, this.#rooms.maxTimeoutMs));
  }

  #noteContainerLines(skill: string, text: string): void {
    const { events, logger } = this.#rooms;
    const { requestId } = this.#request.caller;
    events.stderr(this.#id, text);
    logger.debug({ executionId: this.#id, requestId, skill, stream: "stderr" }, text.trimEnd());
  }

  /** The calling execution when it is of this kit, so that its row can be the parent. */
  #parent(): RunningCall | undefined {
    const { calling } = this.#request;
    return calling?.kit === this.#rooms.kit ? calling : undefined;
  }

  #running(skill: string, deadline: Deadline): RunningCall {
    const { caller, calling } = this.#request;
    return {
      kit: this.#rooms.kit,
      executionId: this.#id,
      rootId: this.rootId,
      apiKeyId: caller.apiKeyId,
      sessionId: caller.sessionId,
      requestId: caller.requestId,
      deadline,
      chain: [...(calling?.chain ?? []), skill],
      beforeEnd: this.#storeTrace,
      onContainer: (trace) => this.#row.keep(trace),
      onContainerLines: (text) => this.#noteContainerLines(skill, text),
    };
  }
}

/** A concurrency place: given back when the handler has ended, which may be after the call when it ignores its signal. */
class Place {
  release: (() => void) | undefined;
  ended: Promise<void> | undefined;

  releaseWhenEnded(): void {
    if (this.release === undefined) return;
    if (this.ended === undefined) this.release();
    else void this.ended.then(this.release);
  }
}

function replay(execution: SkillExecution<unknown>): CallResult {
  const { id, status, errorCode, errorMessage } = execution;
  if (status === "SUCCESS") return { execution, error: undefined };
  const code = errorCode !== null && isSkillErrorCode(errorCode) ? errorCode : "SKILL_FAILED";
  return { execution, error: new SkillError(code, errorMessage ?? `Execution ${id} ended as ${status}.`, { executionId: id }) };
}

/** An abort's reason is shared by all calls that it ends: each gets an error of its own. */
function ofExecution(error: SkillError, executionId: string): SkillError {
  if (error.executionId === undefined) error.executionId = executionId;
  if (error.executionId === executionId) return error;
  return new SkillError(error.code, error.message, { cause: error, executionId, status: error.status, expose: error.expose });
}
