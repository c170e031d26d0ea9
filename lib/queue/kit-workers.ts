import { AsyncResource } from "node:async_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger, SkillsWorker, WorkerOptions } from "../types.js";
import { createWorker } from "./create-worker.js";
import { parseWorkerOptions, type WorkerConfig } from "./options.js";
import type { Worker, WorkerRooms } from "./worker.js";

const OPEN_AGAIN_MS = 1_000;
const DEFAULT_GRACE_MS = 10_000;

/** The workers of a kit: one in the background unless that is switched off, and those that the application starts. */
export class KitWorkers {
  readonly #open: () => Promise<WorkerRooms>;
  readonly #background: WorkerConfig | undefined;
  readonly #logger: Logger;
  readonly #workers = new Set<Worker>();
  /** Work belongs to no request: it must not find the context of the one that happened to wake its worker. */
  readonly #scope = new AsyncResource("express-skills.worker");
  #inBackground: Worker | undefined;
  #isReplaced = false;
  #isStopped = false;

  constructor(open: () => Promise<WorkerRooms>, background: WorkerConfig | undefined, logger: Logger) {
    this.#open = open;
    this.#background = background;
    this.#logger = logger;
  }

  /** Told that the kit is open and every definition was tried. */
  begin(rooms: WorkerRooms): void {
    if (this.#background === undefined || this.#isReplaced || this.#isStopped || this.#inBackground !== undefined) return;
    this.#inBackground = this.#make(rooms, this.#background, true);
  }

  /** A worker of the application's own takes the place of the one in the background. @throws INVALID_OPTION */
  start(options: WorkerOptions): SkillsWorker {
    const config = parseWorkerOptions(options);
    this.#isReplaced = true;
    const stopping = new AbortController();
    const starting = this.#start(config, stopping.signal);
    return {
      async stop({ graceMs = DEFAULT_GRACE_MS } = {}) {
        stopping.abort();
        await (await starting)?.stop(graceMs);
      },
    };
  }

  wake(): void {
    for (const worker of this.#workers) worker.wake();
  }

  async stop(graceMs: number): Promise<void> {
    this.#isStopped = true;
    await Promise.all([...this.#workers].map((worker) => worker.stop(graceMs)));
  }

  /** A database that is down now will be up later. */
  async #start(config: WorkerConfig, stopping: AbortSignal): Promise<Worker | undefined> {
    while (!stopping.aborted && !this.#isStopped) {
      try {
        const rooms = await this.#open();
        if (stopping.aborted || this.#isStopped) return undefined;
        void this.#inBackground?.stop(DEFAULT_GRACE_MS);
        return this.#make(rooms, config, false);
      } catch (error) {
        if (this.#isStopped) return undefined;
        this.#logger.error({ err: error }, "the worker cannot start; it is tried again");
        await sleep(OPEN_AGAIN_MS, undefined, { signal: stopping }).catch(() => {});
      }
    }
    return undefined;
  }

  #make(rooms: WorkerRooms, config: WorkerConfig, isBackground: boolean): Worker {
    const worker = createWorker(rooms, config, { isBackground, scope: this.#scope });
    this.#workers.add(worker);
    return worker;
  }
}
