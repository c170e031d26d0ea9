import type { SkillError } from "../errors.js";
import type { ParsedReference, ReferenceLike } from "../registry/reference.js";
import type { RunnableSkill } from "../registry/registry.js";
import { insertExecution } from "../store/executions.js";
import type { Store } from "../store/store.js";
import type { SkillExecution } from "../types.js";
import type { Audit } from "./audit.js";
import type { Caller } from "./caller.js";
import type { Deadline } from "./deadline.js";
import type { ExecutionEvents } from "./events.js";
import { inProgress } from "./idempotency.js";
import type { JsonCheck } from "./json.js";
import { type Outcome, storableMessage } from "./outcome.js";
import { type CallFacts, type CallState, fromRow, RUNNING, tailOf, toEntry, toExecution, toRow, unreadable } from "./record.js";
import type { ContainerTrace, RunningCall } from "./running.js";

export interface RowRooms {
  readonly store: Store;
  readonly audit: Audit;
  readonly events: ExecutionEvents;
  readonly instanceId: string;
  readonly maxBytes: number;
}

/** What is known of a call from its beginning. */
export interface CallOrigin {
  readonly id: string;
  readonly createdAt: string;
  /** Whether it was enqueued and taken: then its row is there, RUNNING. */
  readonly isTaken: boolean;
  readonly caller: Caller;
  /** The calling execution when it is of this kit, so that its row can be the parent. */
  readonly parent: RunningCall | undefined;
  readonly reference: ReferenceLike;
  readonly sent: JsonCheck;
}

/** How a call's work ended. */
export interface CallEnd {
  readonly outcome: Outcome;
  readonly attempts: number;
  readonly durationMs: number | null;
}

const QUEUED: CallState = Object.freeze({ ...RUNNING, status: "QUEUED" });

/** What is stored of one call, and told to those that watch it. */
export class CallRow {
  readonly #rooms: RowRooms;
  readonly #origin: CallOrigin;
  #lastFacts: CallFacts | undefined;
  /** What the containers of the attempts left. */
  #container: Pick<CallState, "sandbox" | "log"> = RUNNING;
  /** With an idempotency key: whether the row could be made. */
  #inserting: Promise<boolean> | undefined;
  #ended: CallState | undefined;
  /** Whether there is a row: an error before that is a refusal. */
  exists = false;
  reference: ParsedReference | undefined;
  runnable: RunnableSkill | undefined;
  /** Set when the call has an idempotency key. */
  requestHash: string | null = null;

  constructor(rooms: RowRooms, origin: CallOrigin) {
    this.#rooms = rooms;
    this.#origin = origin;
  }

  /** How the call ended. */
  get ended(): CallState | undefined {
    return this.#ended;
  }

  /** The input as JSON. */
  get sentText(): string | null {
    const { sent } = this.#origin;
    return sent.ok ? sent.text : null;
  }

  /** The execution as it would be stored now; `QUEUED` while there is no row. */
  snapshot(): SkillExecution<unknown> {
    return this.#stored(this.#facts(this.sentText, this.requestHash), this.exists ? RUNNING : QUEUED);
  }

  /** Resolves when the row is committed; at once while the call waits for its place and has none. @throws AUDIT_UNAVAILABLE */
  async stored(): Promise<unknown> {
    // One that need not wait for a place begins within this turn of the event loop.
    if (!this.exists && this.#inserting === undefined) await new Promise((resolve) => setImmediate(resolve));
    return this.#inserting ?? this.#rooms.audit.confirm(this.#origin.id);
  }

  /** Leaves a DENIED row, without input and without idempotency key: the key may be used again. */
  async deny(error: SkillError): Promise<void> {
    error.executionId ??= this.#origin.id;
    await this.#commit(this.#facts(null, null), {
      ...RUNNING,
      status: "DENIED",
      errorCode: error.code,
      errorMessage: storableMessage(error.message),
      finishedAt: new Date().toISOString(),
    });
  }

  begin(): void {
    this.exists = true;
    const facts = this.#facts(this.sentText, null);
    if (!this.#origin.isTaken) this.#rooms.audit.put(toEntry(facts, RUNNING, this.#rooms.maxBytes));
    this.#tell(facts, RUNNING);
  }

  /** With an idempotency key the RUNNING row is committed before the handler starts; that time does not count. */
  async beginCommitted(deadline: Deadline): Promise<void> {
    const { store, maxBytes } = this.#rooms;
    const facts = this.#facts(this.sentText, this.requestHash);
    const row = toRow(facts, RUNNING, maxBytes);
    deadline.pause();
    this.#inserting = Promise.resolve(store.write(() => insertExecution(row)));
    const inserted = await this.#inserting;
    deadline.resume();
    if (!inserted) throw inProgress();
    this.exists = true;
    this.#tell(facts, RUNNING);
  }

  /** Commits the end. `error`: that of the outcome, as this execution's. */
  async finish(end: CallEnd, error: SkillError | undefined, requestHash: string | null): Promise<SkillExecution<unknown>> {
    const { outcome, attempts, durationMs } = end;
    const { sent } = this.#origin;
    const facts = this.#facts(this.sentText, requestHash);
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
    this.exists = true;
    await this.#commit(facts, state);
    const output = outcome.error === undefined ? outcome.output : null;
    return toExecution(facts, state, sent.ok ? sent.value : null, output);
  }

  keep({ sandbox, stderr }: ContainerTrace): void {
    const log = tailOf(`${this.#container.log ?? ""}${stderr}`, this.#rooms.maxBytes);
    this.#container = { sandbox, log: log === "" ? null : log };
  }

  /** Watchers hear of an end once it is committed or could not be. */
  async #commit(facts: CallFacts, state: CallState): Promise<void> {
    this.#ended = state;
    try {
      await this.#rooms.audit.commit(toEntry(facts, state, this.#rooms.maxBytes));
    } finally {
      this.#tell(facts, state);
    }
  }

  #tell(facts: CallFacts, state: CallState): void {
    const { events } = this.#rooms;
    if (events.isWatched) events.status(this.#origin.id, () => this.#stored(facts, state));
  }

  #stored(facts: CallFacts, state: CallState): SkillExecution<unknown> {
    return fromRow(toRow(facts, state, this.#rooms.maxBytes));
  }

  /** Made once for the RUNNING row and the final one, unless these differ. */
  #facts(inputText: string | null, requestHash: string | null): CallFacts {
    if (this.#lastFacts?.inputText !== inputText || this.#lastFacts.requestHash !== requestHash)
      this.#lastFacts = this.#makeFacts(inputText, requestHash);
    return this.#lastFacts;
  }

  #makeFacts(inputText: string | null, requestHash: string | null): CallFacts {
    const { id, createdAt, caller, parent, reference } = this.#origin;
    const skill = this.runnable?.skill;
    return {
      id,
      skillId: skill?.id ?? null,
      skillName: skill?.name ?? this.reference?.name ?? unreadable(reference),
      skillVersion: skill?.version ?? this.reference?.range ?? "",
      apiKeyId: caller.apiKeyId,
      sessionId: caller.sessionId,
      requestId: caller.requestId,
      parentId: parent?.executionId ?? null,
      rootId: parent?.rootId ?? id,
      instanceId: this.#rooms.instanceId,
      createdAt,
      inputText,
      inputMarks: this.runnable?.inputMarks,
      outputMarks: this.runnable?.outputMarks,
      idempotencyKey: requestHash === null ? null : caller.idempotencyKey,
      requestHash,
    };
  }
}
