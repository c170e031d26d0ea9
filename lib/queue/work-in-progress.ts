import type { SkillError } from "../errors.js";
import { deleteWork, putBackWork } from "../store/queued-work.js";
import type { QueuedWorkRow } from "../store/rows.js";
import { TraceWriter } from "./trace-writer.js";
import type { WorkerRooms } from "./worker.js";

const TICK_MS = 500;
/** How long work rests that was refused for the moment, unless the refusal says otherwise. */
const REST_MS = 1_000;
const MAX_TIMER_MS = 2_147_483_647;

/** The work that a worker has taken, until it has ended or is put back. */
export class WorkInProgress {
  readonly #rooms: WorkerRooms;
  readonly #onRest: (skillId: string, restMs: number) => void;
  readonly #traces: TraceWriter;
  readonly #timer: NodeJS.Timeout;
  /** By execution. */
  readonly #running = new Map<string, Promise<void>>();
  /** Ended, with their work still in the queue. */
  #ended: string[] = [];
  /** This instance may have taken it and does not do it: by execution, when it is due. */
  readonly #toPutBack = new Map<string, string>();
  #puttingBack: Promise<void> | undefined;
  #deleting: Promise<void> | undefined;
  #isGraceOver = false;
  #isFinished = false;

  /** `onRest` is told how long a skill's work should be left alone, since it was refused for the moment. */
  constructor(rooms: WorkerRooms, onRest: (skillId: string, restMs: number) => void) {
    this.#rooms = rooms;
    this.#onRest = onRest;
    this.#traces = new TraceWriter(rooms.store, rooms.executor.events, rooms.logger);
    this.#timer = setInterval(() => {
      if (this.#running.size > 0) void this.#traces.writeRunning(rooms.executor.runningIn(this.#running));
      void this.#putBackRest();
      if (this.#isFinished && this.#toPutBack.size === 0) clearInterval(this.#timer);
    }, TICK_MS).unref();
  }

  get count(): number {
    return this.#running.size;
  }

  /** Told that nobody knows whether the taking of work was committed: then it would be RUNNING here, and nobody would do it. */
  doubt(id: string): void {
    this.#toPutBack.set(id, new Date().toISOString());
  }

  /** To be called before work is taken: what was doubted must have been put back. @throws STORE_UNAVAILABLE */
  async settle(id: string): Promise<void> {
    await this.#puttingBack;
    const runAtIso = this.#toPutBack.get(id);
    if (runAtIso !== undefined) await this.#putBackNow(id, runAtIso);
  }

  /** Has the executor do work that was taken. Never rejects. */
  perform(work: QueuedWorkRow): Promise<void> {
    const done = this.#perform(work).finally(() => this.#running.delete(work.id));
    this.#running.set(work.id, done);
    if (this.#isGraceOver) this.#rooms.executor.shutDownWork(work.id);
    return done;
  }

  /** Waits `graceMs` for what runs, has the executor end the rest, and settles what is left to be stored. */
  async finish(graceMs: number): Promise<void> {
    const timer = setTimeout(
      () => {
        this.#isGraceOver = true;
        for (const id of this.#running.keys()) this.#rooms.executor.shutDownWork(id);
      },
      Math.min(graceMs, MAX_TIMER_MS),
    );
    while (this.#running.size > 0) await Promise.all(this.#running.values());
    clearTimeout(timer);
    this.#isFinished = true;
    await this.#putBackRest();
    await this.#deleting;
    await this.#deleteEnded();
  }

  async #perform(work: QueuedWorkRow): Promise<void> {
    const { executor, logger } = this.#rooms;
    try {
      const refusal = await executor.performWork(work, (id) => this.#traces.write([id]));
      if (refusal === undefined) this.#noteEnd(work.id);
      else await this.#putBack(work, refusal);
    } catch (error) {
      // Its row in the queue goes once that of its execution says how it ended.
      logger.error({ executionId: work.id, err: error }, "the end of queued work could not be recorded");
    }
  }

  async #putBack({ id, skill_id: skillId }: QueuedWorkRow, refusal: SkillError): Promise<void> {
    const { logger } = this.#rooms;
    const restMs = refusal.retryAfterMs ?? REST_MS;
    const isShutDown = refusal.code === "SHUTTING_DOWN";
    if (!isShutDown) this.#onRest(skillId, restMs);
    const runAtIso = new Date(Date.now() + (isShutDown ? 0 : restMs)).toISOString();
    this.#toPutBack.set(id, runAtIso);
    try {
      await this.#putBackNow(id, runAtIso);
      logger.debug({ executionId: id, code: refusal.code }, "queued work waits again");
    } catch (error) {
      logger.warn({ executionId: id, err: error }, "queued work could not be put back; it is tried again");
    }
  }

  async #putBackNow(id: string, runAtIso: string): Promise<void> {
    const { store, instanceId, executor } = this.#rooms;
    // Another worker of this kit may have taken it since.
    if (!executor.isRunning(id)) await store.write(() => putBackWork(id, instanceId, runAtIso, store.jobs?.schema));
    this.#toPutBack.delete(id);
  }

  #putBackRest(): Promise<void> {
    this.#puttingBack ??= this.#putBackAll().finally(() => {
      this.#puttingBack = undefined;
    });
    return this.#puttingBack;
  }

  /** Never rejects: what cannot be put back now is so later, or when this instance has ended. */
  async #putBackAll(): Promise<void> {
    try {
      for (const [id, runAtIso] of this.#toPutBack) if (!this.#running.has(id)) await this.#putBackNow(id, runAtIso);
    } catch (error) {
      this.#rooms.logger.debug({ err: error }, "queued work could not be put back; it is tried again");
    }
  }

  #noteEnd(id: string): void {
    this.#ended.push(id);
    this.#deleting ??= this.#deleteEnded().finally(() => {
      this.#deleting = undefined;
    });
  }

  /** What cannot be deleted now goes with the next end, or when this instance has ended. */
  async #deleteEnded(): Promise<void> {
    const { store, instanceId } = this.#rooms;
    while (this.#ended.length > 0) {
      const ids = this.#ended;
      this.#ended = [];
      try {
        await (store.jobs?.deleteWork(ids, instanceId) ?? store.write(() => deleteWork(ids, instanceId)));
      } catch (error) {
        this.#ended.push(...ids);
        this.#rooms.logger.warn({ err: error }, "ended work could not be taken out of the queue; it is tried again");
        return;
      }
    }
  }
}
