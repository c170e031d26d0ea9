import type { AsyncResource } from "node:async_hooks";
import type { SkillError } from "../errors.js";
import type { SkillExecutor } from "../executor/executor.js";
import { deleteWork, putBackWork } from "../store/queued-work.js";
import type { QueuedWorkRow } from "../store/rows.js";
import type { Logger, SandboxRunner } from "../types.js";
import { EngineWatch } from "./engine-watch.js";
import type { WorkerConfig } from "./options.js";
import { Picker, type PickerRooms } from "./picker.js";
import { TraceWriter } from "./trace-writer.js";

/** How soon work that another process enqueued is seen where the database does not tell of it, */
const POLL_MS = 200;
/** and where it does: for what becomes due, and for what was not told. */
const POLL_TOLD_MS = 1_000;
const TRACE_MS = 500;
/** How long work rests that was refused for the moment, unless the refusal says otherwise. */
const REST_MS = 1_000;
const MAX_TIMER_MS = 2_147_483_647;

export interface WorkerRooms extends PickerRooms {
  readonly executor: SkillExecutor;
  readonly sandbox: Pick<SandboxRunner, "describe">;
  readonly logger: Logger;
}

export interface WorkerPlace {
  /** Whether it lets its process end. */
  readonly isBackground: boolean;
  /** The asynchronous context that work runs in. */
  readonly scope: AsyncResource;
}

/**
 * Works off the queue of an open kit: takes what is due and can be done here, at most `concurrency` at a time, and has the executor do it.
 * Taking is committed before the handler starts.
 */
export class Worker {
  readonly #rooms: WorkerRooms;
  readonly #config: WorkerConfig;
  readonly #picker: Picker;
  readonly #traces: TraceWriter;
  /** By execution. */
  readonly #running = new Map<string, Promise<void>>();
  /** Ended, with their work still in the queue. */
  #ended: string[] = [];
  #deleting: Promise<void> | undefined;
  #looking: Promise<void> | undefined;
  #lookAgain = false;
  #isFailing = false;
  #stopping: Promise<void> | undefined;
  readonly #scope: AsyncResource;
  readonly #poll: NodeJS.Timeout;
  readonly #traceTimer: NodeJS.Timeout;

  constructor(rooms: WorkerRooms, config: WorkerConfig, { isBackground, scope }: WorkerPlace) {
    this.#rooms = rooms;
    this.#config = config;
    this.#scope = scope;
    this.#picker = new Picker(rooms, new EngineWatch(rooms.sandbox, () => this.wake()));
    this.#traces = new TraceWriter(rooms.store, rooms.executor.events, rooms.logger);
    rooms.store.watch?.(() => this.wake(), "queue");
    this.#poll = setInterval(() => this.wake(), rooms.store.watch === undefined ? POLL_MS : POLL_TOLD_MS);
    this.#traceTimer = setInterval(() => void this.#traces.write(this.#running.keys()), TRACE_MS).unref();
    if (isBackground) this.#poll.unref();
    this.wake();
  }

  /** There may be work. */
  wake(): void {
    if (this.#stopping !== undefined || this.#running.size >= this.#config.concurrency) return;
    this.#lookAgain = true;
    this.#looking ??= this.#scope
      .runInAsyncScope(() => this.#look())
      .finally(() => {
        this.#looking = undefined;
        // Told in the moment in which the look ended.
        if (this.#lookAgain) this.wake();
      });
  }

  /** Takes nothing more, waits `graceMs` for what runs, and has the executor end the rest. */
  stop(graceMs: number): Promise<void> {
    this.#stopping ??= this.#stop(graceMs);
    return this.#stopping;
  }

  async #stop(graceMs: number): Promise<void> {
    clearInterval(this.#poll);
    await this.#looking;
    const timer = setTimeout(
      () => {
        for (const id of this.#running.keys()) this.#rooms.executor.shutDownWork(id);
      },
      Math.min(graceMs, MAX_TIMER_MS),
    );
    await Promise.all(this.#running.values());
    clearTimeout(timer);
    clearInterval(this.#traceTimer);
    await this.#deleting;
    await this.#deleteEnded();
  }

  async #look(): Promise<void> {
    try {
      while (this.#lookAgain && this.#stopping === undefined) {
        this.#lookAgain = false;
        const free = this.#config.concurrency - this.#running.size;
        if (free <= 0) return;
        const taken = await this.#picker.take(free);
        for (const work of taken) this.#start(work);
        if (taken.length > 0) this.#lookAgain = true;
      }
      if (this.#isFailing) this.#rooms.logger.info({}, "the queue can be read again");
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing) this.#rooms.logger.warn({ err: error }, "the queue cannot be read; it is tried again");
      this.#isFailing = true;
    }
  }

  #start(work: QueuedWorkRow): void {
    const done = this.#perform(work).finally(() => {
      this.#running.delete(work.id);
      this.#traces.forget(work.id);
      this.wake();
    });
    this.#running.set(work.id, done);
  }

  /** Never rejects. */
  async #perform(work: QueuedWorkRow): Promise<void> {
    const { executor, logger } = this.#rooms;
    try {
      const refusal = await executor.performWork(work, () => this.#traces.write([work.id]));
      if (refusal === undefined) this.#noteEnd(work.id);
      else await this.#putBack(work, refusal);
    } catch (error) {
      // Its row in the queue goes once that of its execution says how it ended.
      logger.error({ executionId: work.id, err: error }, "the end of queued work could not be recorded");
    }
  }

  async #putBack({ id, skill_id: skillId }: QueuedWorkRow, refusal: SkillError): Promise<void> {
    const { store, instanceId, logger } = this.#rooms;
    const restMs = refusal.retryAfterMs ?? REST_MS;
    const isShutDown = refusal.code === "SHUTTING_DOWN";
    if (!isShutDown) this.#picker.leave(skillId, restMs);
    const runAtIso = new Date(Date.now() + (isShutDown ? 0 : restMs)).toISOString();
    try {
      await store.write(() => putBackWork(id, instanceId, runAtIso));
      logger.debug({ executionId: id, code: refusal.code }, "queued work waits again");
    } catch (error) {
      logger.error(
        { executionId: id, err: error },
        "queued work could not be put back; that is done when this instance has ended",
      );
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
    while (this.#ended.length > 0) {
      const ids = this.#ended;
      this.#ended = [];
      try {
        await this.#rooms.store.write(() => deleteWork(ids, this.#rooms.instanceId));
      } catch (error) {
        this.#ended.push(...ids);
        this.#rooms.logger.warn({ err: error }, "ended work could not be taken out of the queue; it is tried again");
        return;
      }
    }
  }
}
