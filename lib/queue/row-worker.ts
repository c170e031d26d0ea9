import type { AsyncResource } from "node:async_hooks";
import { EngineWatch } from "./engine-watch.js";
import type { WorkerConfig } from "./options.js";
import { Picker } from "./picker.js";
import { WorkInProgress } from "./work-in-progress.js";
import type { Worker, WorkerPlace, WorkerRooms } from "./worker.js";

/** How soon work is seen that another process enqueued, or whose time has come. */
const POLL_MS = 200;

/** Takes rows of the queue that are due and can be done here. Taking is committed before the handler starts. */
export class RowWorker implements Worker {
  readonly #rooms: WorkerRooms;
  readonly #config: WorkerConfig;
  readonly #picker: Picker;
  readonly #progress: WorkInProgress;
  readonly #scope: AsyncResource;
  readonly #poll: NodeJS.Timeout;
  #looking: Promise<void> | undefined;
  #lookAgain = false;
  #isFailing = false;
  #stopping: Promise<void> | undefined;

  constructor(rooms: WorkerRooms, config: WorkerConfig, { isBackground, scope }: WorkerPlace) {
    this.#rooms = rooms;
    this.#config = config;
    this.#scope = scope;
    this.#picker = new Picker(rooms, new EngineWatch(rooms.sandbox, () => this.wake()));
    this.#progress = new WorkInProgress(rooms, (skillId, restMs) => this.#picker.leave(skillId, restMs));
    this.#poll = setInterval(() => this.wake(), POLL_MS);
    if (isBackground) this.#poll.unref();
    this.wake();
  }

  wake(): void {
    if (this.#stopping !== undefined || this.#progress.count >= this.#config.concurrency) return;
    this.#lookAgain = true;
    this.#looking ??= this.#scope
      .runInAsyncScope(() => this.#look())
      .finally(() => {
        this.#looking = undefined;
        // Told in the moment in which the look ended.
        if (this.#lookAgain) this.wake();
      });
  }

  stop(graceMs: number): Promise<void> {
    this.#stopping ??= this.#stop(graceMs);
    return this.#stopping;
  }

  async #stop(graceMs: number): Promise<void> {
    clearInterval(this.#poll);
    await this.#looking;
    await this.#progress.finish(graceMs);
  }

  async #look(): Promise<void> {
    try {
      while (this.#lookAgain && this.#stopping === undefined) {
        this.#lookAgain = false;
        const free = this.#config.concurrency - this.#progress.count;
        if (free <= 0) return;
        const taken = await this.#picker.take(free);
        for (const work of taken) void this.#progress.perform(work).finally(() => this.wake());
        if (taken.length > 0) this.#lookAgain = true;
      }
      if (this.#isFailing) this.#rooms.logger.info({}, "the queue can be read again");
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing) this.#rooms.logger.warn({ err: error }, "the queue cannot be read; it is tried again");
      this.#isFailing = true;
    }
  }
}
