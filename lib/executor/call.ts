import { isSkillErrorCode, SkillError } from "../errors.js";
import type { ParsedReference, ReferenceLike } from "../registry/reference.js";
import type { RunnableSkill, SkillRegistry } from "../registry/registry.js";
import { insertExecution } from "../store/executions.js";
import type { Store } from "../store/store.js";
import type { CallTelemetry, CallWatch } from "../telemetry/call-watch.js";
import type { HandlerContext, Logger, SkillExecution } from "../types.js";
import { type Admitted, admit, findRunnable, parseInput } from "./admission.js";
import { type AttemptsResult, runAttempts } from "./attempts.js";
import type { Audit } from "./audit.js";
import type { Caller } from "./caller.js";
import { containerGraceMs, toContainerFailure } from "./container.js";
import { Deadline } from "./deadline.js";
import type { ExecutionEvents } from "./events.js";
import type { Handlers } from "./handlers.js";
import { findEarlier, hashRequest, inProgress } from "./idempotency.js";
import { checkJson, type JsonCheck } from "./json.js";
import type { SkillLimits } from "./limits.js";
import { type Outcome, storableMessage, toAborted } from "./outcome.js";
import { type CallFacts, type CallState, fromRow, RUNNING, tailOf, toEntry, toExecution, toRow } from "./record.js";
import { type ContainerTrace, type RunningCall, runningCall } from "./running.js";

/** What a call needs of the open kit. */
export interface CallRooms {
  readonly kit: object;
  readonly registry: SkillRegistry;
  readonly store: Store;
  readonly audit: Audit;
  readonly events: ExecutionEvents;
  readonly handlers: Handlers;
  readonly limits: SkillLimits;
  readonly telemetry: CallTelemetry;
  readonly logger: Logger;
  readonly instanceId: string;
  readonly maxBytes: number;
  readonly maxTimeoutMs: number;
  nextId(): string;
  defaultTimeoutMs(): number;
  /** The context that a handler gets. */
  createContext(running: RunningCall, skill: { name: string; version: string }, attempt: number): HandlerContext;
  /** Told when a call starts waiting for its place, and when it has ended. */
  onStart(id: string, started: StartedWork): unknown;
  onEnd(id: string): unknown;
}

/** A call that was admitted and has not ended. */
export interface StartedWork {
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

const QUEUED: CallState = Object.freeze({ ...RUNNING, status: "QUEUED" });

interface End {
  readonly outcome: Outcome;
  readonly attempts: number;
  readonly durationMs: number | null;
}

class Call implements StartedWork {
  readonly #rooms: CallRooms;
  readonly #request: CallRequest;
  readonly #id: string;
  readonly #createdAt = new Date().toISOString();
  readonly #sent: JsonCheck;
  /** With an idempotency key: whether its row could be made. */
  #inserting: Promise<boolean> | undefined;
  #reference: ParsedReference | undefined;
  #runnable: RunnableSkill | undefined;
  #lastFacts: CallFacts | undefined;
  /** What the containers of the attempts left. */
  #container: Pick<CallState, "sandbox" | "log"> = RUNNING;
  /** Set when the call has an idempotency key. */
  #requestHash: string | null = null;
  readonly #watch: CallWatch | undefined;
  /** How the call ended, or how an earlier one did whose answer it gives. */
  #ended: Pick<CallState, "status" | "errorCode" | "attempts" | "durationMs"> | undefined;
  #isReplay = false;
  /** Whether the call has a row: an error before that is a refusal. */
  hasRow = false;
  deadline: Deadline | undefined;

  constructor(rooms: CallRooms, request: CallRequest) {
    this.#rooms = rooms;
    this.#request = request;
    this.#id = rooms.nextId();
    this.#sent = checkJson(request.input);
    this.#watch = rooms.telemetry.watch(this.#id);
  }

  async perform(): Promise<CallResult> {
    const { registry, store } = this.#rooms;
    const { caller, calling } = this.#request;
    this.#reference = registry.parse(this.#request.reference);
    if (caller.idempotencyKey !== null) {
      if (!this.#rooms.audit.keepsRows)
        throw new SkillError("INVALID_OPTION", "An idempotencyKey needs the audit, which is off.");
      // What is not JSON is refused below.
      if (this.#sent.ok) {
        this.#requestHash = hashRequest(this.#reference, this.#sent.text);
        const earlier = await findEarlier(store, caller.apiKeyId, caller.idempotencyKey, this.#requestHash);
        if (earlier !== undefined) {
          this.#isReplay = true;
          this.#ended = earlier;
          return replay(earlier);
        }
      }
    }
    const runnable = findRunnable(registry, this.#reference, caller.apiKeyId, calling?.chain ?? []);
    this.#runnable = runnable instanceof Promise ? await runnable : runnable;
    return this.#perform(this.#runnable);
  }

  snapshot(): SkillExecution<unknown> {
    return this.#stored(this.#facts(this.#sentText, this.#requestHash), this.hasRow ? RUNNING : QUEUED);
  }

  async stored(): Promise<unknown> {
    // One that need not wait for a place begins within this turn of the event loop.
    if (!this.hasRow && this.#inserting === undefined) await new Promise((resolve) => setImmediate(resolve));
    return this.#inserting ?? this.#rooms.audit.confirm(this.#id);
  }

  /** Leaves a DENIED row, without input and without idempotency key: the key may be used again. */
  async deny(error: SkillError): Promise<void> {
    error.executionId ??= this.#id;
    const state: CallState = {
      ...RUNNING,
      status: "DENIED",
      errorCode: error.code,
      errorMessage: storableMessage(error.message),
      finishedAt: new Date().toISOString(),
    };
    const facts = this.#facts(null, null);
    this.#ended = state;
    try {
      await this.#rooms.audit.commit(toEntry(facts, state, this.#rooms.maxBytes));
    } finally {
      this.#tell(facts, state);
    }
  }

  /** Tells how the call ended: with `thrown`, or as its row says. */
  endWatch(thrown: unknown): void {
    if (this.#watch === undefined) return;
    const { status = "ERROR", errorCode = null, attempts = 0, durationMs = null } = this.#ended ?? {};
    const thrownType = thrown instanceof SkillError ? thrown.code : "_OTHER";
    this.#watch.end({
      skill: this.#runnable?.skill ?? (this.#reference && { name: this.#reference.name, version: this.#reference.range }),
      isFound: this.#runnable !== undefined,
      outcome: status,
      errorType: thrown === undefined ? errorCode : thrownType,
      attempts,
      durationMs,
      isReplay: this.#isReplay,
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
      if (taken !== undefined) place.release = await this.#watchQueue(taken);
      const end = await this.#runGuarded(admitted, deadline, place);
      return await this.#finish(end, this.#requestHash);
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

  #watchQueue(taken: Promise<() => void>): Promise<() => void> {
    if (this.#watch === undefined) return taken;
    this.#watch.queue();
    return taken.finally(() => this.#watch?.leaveQueue());
  }

  async #runGuarded(admitted: Admitted, deadline: Deadline, place: Place): Promise<End> {
    let end: End | undefined;
    await this.#rooms.limits.guard(admitted.runnable.skill, async () => {
      if (this.#requestHash === null) this.#begin();
      else await this.#beginCommitted(this.#requestHash, deadline);
      const startedAtMs = performance.now();
      const { outcome, attempts, ended } = await this.#attempt(admitted, deadline);
      place.ended = ended;
      end = { outcome, attempts, durationMs: performance.now() - startedAtMs };
      return outcome;
    });
    return end as unknown as End;
  }

  #begin(): void {
    this.hasRow = true;
    const facts = this.#facts(this.#sentText, null);
    this.#rooms.audit.put(toEntry(facts, RUNNING, this.#rooms.maxBytes));
    this.#tell(facts, RUNNING);
  }

  /** With an idempotency key the RUNNING row is committed before the handler starts; that time does not count. */
  async #beginCommitted(requestHash: string, deadline: Deadline): Promise<void> {
    const { store, maxBytes } = this.#rooms;
    const facts = this.#facts(this.#sentText, requestHash);
    const row = toRow(facts, RUNNING, maxBytes);
    deadline.pause();
    this.#inserting = Promise.resolve(store.write(() => insertExecution(row)));
    const inserted = await this.#inserting;
    deadline.resume();
    if (!inserted) throw inProgress();
    this.hasRow = true;
    this.#tell(facts, RUNNING);
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
        return Promise.resolve(parseInput(runnable, handler, JSON.parse(this.#sentText ?? "null"))).then((again) => {
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

  async #finish({ outcome, attempts, durationMs }: End, requestHash: string | null): Promise<CallResult> {
    const facts = this.#facts(this.#sentText, requestHash);
    const error = outcome.error && ofExecution(outcome.error, this.#id);
    const state: CallState = {
      status: outcome.status,
      outputText: outcome.error === undefined ? outcome.text : null,
      errorCode: error?.code ?? null,
      errorMessage: error === undefined ? null : storableMessage(error.message),
      attempts,
      durationMs: durationMs === null ? null : Math.round(durationMs * 1000) / 1000,
      finishedAt: new Date().toISOString(),
      sandbox: this.#container.sandbox,
      log: this.#container.log,
    };
    this.hasRow = true;
    this.#ended = state;
    try {
      await this.#rooms.audit.commit(toEntry(facts, state, this.#rooms.maxBytes));
    } finally {
      this.#tell(facts, state);
    }
    const output = outcome.error === undefined ? outcome.output : null;
    return { execution: toExecution(facts, state, this.#sent.ok ? this.#sent.value : null, output), error };
  }

  /** The input as JSON. */
  get #sentText(): string | null {
    return this.#sent.ok ? this.#sent.text : null;
  }

  /** Watchers hear of a status, an end once it is committed or could not be. */
  #tell(facts: CallFacts, state: CallState): void {
    const { events } = this.#rooms;
    if (events.isWatched) events.status(this.#id, () => this.#stored(facts, state));
  }

  #stored(facts: CallFacts, state: CallState): SkillExecution<unknown> {
    return fromRow(toRow(facts, state, this.#rooms.maxBytes));
  }

  #timeoutMs(ofSkill: number | undefined): number {
    const { caller, calling } = this.#request;
    const own = caller.timeoutMs ?? ofSkill ?? this.#rooms.defaultTimeoutMs();
    const leftMs = calling === undefined ? Number.POSITIVE_INFINITY : calling.deadline.endsAtMs - performance.now();
    return Math.max(0, Math.min(own, leftMs, this.#rooms.maxTimeoutMs));
  }

  #keep({ sandbox, stderr }: ContainerTrace): void {
    const log = tailOf(`${this.#container.log ?? ""}${stderr}`, this.#rooms.maxBytes);
    this.#container = { sandbox, log: log === "" ? null : log };
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
      rootId: this.#parent()?.rootId ?? this.#id,
      apiKeyId: caller.apiKeyId,
      sessionId: caller.sessionId,
      requestId: caller.requestId,
      deadline,
      chain: [...(calling?.chain ?? []), skill],
      onContainer: (trace) => this.#keep(trace),
      onContainerLines: (text) => this.#noteContainerLines(skill, text),
    };
  }

  /** Made once for the RUNNING row and the final one, unless these differ. */
  #facts(inputText: string | null, requestHash: string | null): CallFacts {
    if (this.#lastFacts?.inputText !== inputText || this.#lastFacts.requestHash !== requestHash)
      this.#lastFacts = this.#makeFacts(inputText, requestHash);
    return this.#lastFacts;
  }

  #makeFacts(inputText: string | null, requestHash: string | null): CallFacts {
    const { caller } = this.#request;
    const parent = this.#parent();
    const skill = this.#runnable?.skill;
    return {
      id: this.#id,
      skillId: skill?.id ?? null,
      skillName: skill?.name ?? this.#reference?.name ?? unreadable(this.#request.reference),
      skillVersion: skill?.version ?? this.#reference?.range ?? "",
      apiKeyId: caller.apiKeyId,
      sessionId: caller.sessionId,
      requestId: caller.requestId,
      parentId: parent?.executionId ?? null,
      rootId: parent?.rootId ?? this.#id,
      instanceId: this.#rooms.instanceId,
      createdAt: this.#createdAt,
      inputText,
      inputMarks: this.#runnable?.inputMarks,
      outputMarks: this.#runnable?.outputMarks,
      idempotencyKey: requestHash === null ? null : caller.idempotencyKey,
      requestHash,
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

function unreadable(reference: unknown): string {
  return typeof reference === "string" ? storableMessage(reference).slice(0, 100) : "";
}
