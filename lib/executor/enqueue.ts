import { SkillError } from "../errors.js";
import type { ParsedReference, ReferenceLike } from "../registry/reference.js";
import type { RunnableSkill } from "../registry/registry.js";
import { enqueueWork } from "../store/enqueue-work.js";
import { findByIdempotencyKey } from "../store/executions.js";
import type { QueuedWorkRow } from "../store/rows.js";
import type { EnqueueOptions, SkillExecution } from "../types.js";
import { checkInput, findRunnable } from "./admission.js";
import type { CallRooms } from "./call.js";
import type { Caller } from "./caller.js";
import { parseSchedule, type Schedule } from "./enqueue-options.js";
import { findEarlier, hashRequest, mismatch } from "./idempotency.js";
import { checkJson, type JsonCheck } from "./json.js";
import { storableMessage } from "./outcome.js";
import { type CallFacts, type CallState, fromRow, RUNNING, toEntry, toExecution, toRow, unreadable } from "./record.js";
import type { RunningCall } from "./running.js";

/** Whole inputs are kept until they have run. */
const MAX_INPUT_BYTES = 16 * 1024 * 1024;
const QUEUED: CallState = Object.freeze({ ...RUNNING, status: "QUEUED" });

export interface EnqueueRequest {
  readonly reference: ReferenceLike;
  readonly input: unknown;
  readonly caller: Caller;
  readonly options: EnqueueOptions;
  /** The call whose handler enqueues. The work is no part of it: it runs when that may have ended long ago. */
  readonly calling: RunningCall | undefined;
}

/**
 * Chooses the version, checks the input, and commits the execution together with its work.
 * @throws INVALID_OPTION; AUDIT_UNAVAILABLE; what refuses the call, once its DENIED row is committed; STORE_UNAVAILABLE without such a row: it
 *   may have been enqueued
 */
export async function enqueueCall(rooms: CallRooms, request: EnqueueRequest): Promise<SkillExecution<unknown>> {
  const { caller } = request;
  if (!rooms.audit.keepsRows) throw new SkillError("INVALID_OPTION", "Work for later needs the audit, which is off.");
  if (caller.signal !== undefined)
    throw new SkillError("INVALID_OPTION", "Queued work takes no signal: executor.cancel(id) ends it.");
  const schedule = parseSchedule(request.options, Date.now());
  // A database that is known to be away is not waited for.
  rooms.audit.admit();
  const call = new Enqueueing(rooms, request, schedule);
  try {
    return await call.perform();
  } catch (error) {
    if (error instanceof SkillError && error.code !== "STORE_UNAVAILABLE" && !call.isAnswered) await call.deny(error);
    throw error;
  }
}

class Enqueueing {
  readonly #rooms: CallRooms;
  readonly #request: EnqueueRequest;
  readonly #schedule: Schedule;
  readonly #id: string;
  readonly #createdAt = new Date().toISOString();
  readonly #sent: JsonCheck;
  #reference: ParsedReference | undefined;
  #runnable: RunnableSkill | undefined;
  /** Whether the database gave its answer, or could not: then no DENIED row is due. */
  isAnswered = false;

  constructor(rooms: CallRooms, request: EnqueueRequest, schedule: Schedule) {
    this.#rooms = rooms;
    this.#request = request;
    this.#schedule = schedule;
    this.#id = rooms.nextId();
    this.#sent = checkJson(request.input);
  }

  async perform(): Promise<SkillExecution<unknown>> {
    const { registry } = this.#rooms;
    const { caller, calling } = this.#request;
    const reference = registry.parse(this.#request.reference);
    this.#reference = reference;
    const requestHash = caller.idempotencyKey !== null && this.#sent.ok ? hashRequest(reference, this.#sent.text) : null;
    const earlier = requestHash === null ? undefined : await this.#findEarlier(requestHash);
    if (earlier !== undefined) return earlier;
    const runnable = await findRunnable(registry, reference, caller.apiKeyId, calling?.chain ?? []);
    this.#runnable = runnable;
    const text = await this.#checkedText(runnable);
    return this.#commit(runnable, text, requestHash);
  }

  async deny(error: SkillError): Promise<void> {
    error.executionId ??= this.#id;
    const state: CallState = {
      ...RUNNING,
      status: "DENIED",
      errorCode: error.code,
      errorMessage: storableMessage(error.message),
      finishedAt: new Date().toISOString(),
    };
    await this.#rooms.audit.commit(toEntry(this.#facts(null, null), state, this.#rooms.maxBytes));
  }

  /** The execution of an earlier call with the same key, also while it waits or runs. */
  async #findEarlier(requestHash: string): Promise<SkillExecution<unknown> | undefined> {
    const { apiKeyId, idempotencyKey } = this.#request.caller;
    const row = await this.#rooms.store.read(findByIdempotencyKey(apiKeyId, idempotencyKey ?? ""));
    if (row === undefined) return undefined;
    if (row.finished_at === null && row.request_hash !== requestHash) throw mismatch(row.id);
    if (row.finished_at === null) return fromRow(row);
    return findEarlier(this.#rooms.store, apiKeyId, idempotencyKey ?? "", requestHash);
  }

  /** A process that has no handler for it checks by the schema alone; the one that runs it checks again. */
  async #checkedText(runnable: RunnableSkill): Promise<string> {
    await checkInput(runnable, this.#rooms.handlers, this.#sent);
    const { text } = this.#sent as Extract<JsonCheck, { ok: true }>;
    const bytes = Buffer.byteLength(text);
    if (bytes <= MAX_INPUT_BYTES) return text;
    const fault = { pointer: "", message: `has ${bytes} bytes; queued work takes at most ${MAX_INPUT_BYTES}` };
    const { name, version } = runnable.skill;
    throw new SkillError("INVALID_INPUT", `${name}@${version}: the input ${fault.message}.`, { faults: [fault] });
  }

  async #commit(runnable: RunnableSkill, text: string, requestHash: string | null): Promise<SkillExecution<unknown>> {
    const { store, maxBytes, events, enqueueing } = this.#rooms;
    // A worker of this process may have begun it before the database's answer was here: watchers do not hear of QUEUED after RUNNING.
    let isUntold = true;
    const facts = this.#facts(text, requestHash);
    const row = toRow(facts, QUEUED, maxBytes);
    const work = this.#work(runnable, text);
    await store.jobs?.prepare();
    this.isAnswered = true;
    enqueueing.add(this.#id);
    const { end, replacedId } = await enqueueWork(store, row, work).finally(() => {
      isUntold = enqueueing.delete(this.#id);
    });
    if (end !== "done") return this.#settleOtherwise(end, runnable, requestHash);
    if (events.isWatched) {
      if (isUntold) events.status(this.#id, () => fromRow(row));
      if (replacedId !== undefined) await this.#rooms.tellStored(replacedId);
    }
    this.#rooms.onEnqueue();
    return toExecution(facts, QUEUED, this.#sent.ok ? this.#sent.value : null, null);
  }

  async #settleOtherwise(
    end: "gone" | "key-taken",
    { skill }: RunnableSkill,
    requestHash: string | null,
  ): Promise<SkillExecution<unknown>> {
    this.isAnswered = false;
    const earlier = end === "key-taken" && requestHash !== null ? await this.#findEarlier(requestHash) : undefined;
    if (earlier !== undefined) return earlier;
    throw new SkillError("SKILL_NOT_FOUND", `${skill.name}@${skill.version} was removed in this moment.`);
  }

  #work({ skill }: RunnableSkill, text: string): QueuedWorkRow {
    const { caller } = this.#request;
    const { runAt, isLater, priority, jobKey } = this.#schedule;
    return {
      id: this.#id,
      api_key_id: caller.apiKeyId,
      session_id: caller.sessionId,
      request_id: caller.requestId,
      skill_id: skill.id,
      skill_owner: skill.apiKeyId,
      skill_name: skill.name,
      skill_version: skill.version,
      handler: skill.handler,
      input: text,
      timeout_ms: caller.timeoutMs ?? null,
      state: isLater ? "LATER" : "DUE",
      run_at: runAt,
      priority,
      job_key: jobKey,
      instance_id: null,
      takes: 0,
      idempotent: skill.idempotent === true ? 1 : 0,
      created_at: this.#createdAt,
    };
  }

  #facts(inputText: string | null, requestHash: string | null): CallFacts {
    const { caller, reference } = this.#request;
    const skill = this.#runnable?.skill;
    return {
      id: this.#id,
      skillId: skill?.id ?? null,
      skillName: skill?.name ?? this.#reference?.name ?? unreadable(reference),
      skillVersion: skill?.version ?? this.#reference?.range ?? "",
      apiKeyId: caller.apiKeyId,
      sessionId: caller.sessionId,
      requestId: caller.requestId,
      parentId: null,
      rootId: this.#id,
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
