import { setTimeout as sleep } from "node:timers/promises";
import { isSkillError } from "../errors.js";
import type { JobPool, JobTasks, LogJobs } from "../store/graphile-worker.js";
import {
  CONTAINER_TASK,
  deleteDeadPools,
  deletePool,
  EVERY_JOB,
  flagOf,
  hasContainerJobs,
  type JobPayload,
  keepPool,
  listDeadPools,
  mendJobs,
  passJobOn,
  taskOf,
} from "../store/jobs.js";
import type { StoreJobs } from "../store/store.js";
import { EngineWatch } from "./engine-watch.js";
import type { WorkerConfig } from "./options.js";
import { WorkInProgress } from "./work-in-progress.js";
import type { Worker, WorkerPlace, WorkerRooms } from "./worker.js";

/** With the time until an instance counts as dead it is less than a minute until its work is taken again. */
const UPKEEP_MS = 5_000;
const MEND_EVERY_MS = 15_000;
const START_AGAIN_MS = 1_000;
/** How long a job is left alone whose skill cannot be done here although its handler is. */
const LEAVE_MS = 1_000;
/** How long an end waits for jobs to be told as done, which a database that is away would take for ever. */
const END_LIMIT_MS = 5_000;

/** Takes jobs of graphile-worker whose task can be done here. The row of the queue decides who does the work; the job says that there is some. */
export class JobWorker implements Worker {
  readonly #rooms: WorkerRooms;
  readonly #jobs: StoreJobs;
  readonly #config: WorkerConfig;
  readonly #place: WorkerPlace;
  readonly #engine: EngineWatch;
  readonly #progress: WorkInProgress;
  /** Read by graphile-worker at each look for a job. */
  readonly #tasks: JobTasks = {};
  /** By flag: until when its jobs are left alone here. */
  readonly #leftAlone = new Map<string, number>();
  readonly #ending = new AbortController();
  readonly #working: Promise<void>;
  #pool: JobPool | undefined;
  #upkeep: NodeJS.Timeout | undefined;
  #isKeepingUp = false;
  #mendedAtMs = Number.NEGATIVE_INFINITY;
  #stopping: Promise<void> | undefined;

  constructor(rooms: WorkerRooms, jobs: StoreJobs, config: WorkerConfig, place: WorkerPlace) {
    this.#rooms = rooms;
    this.#jobs = jobs;
    this.#config = config;
    this.#place = place;
    this.#engine = new EngineWatch(rooms.sandbox, () => {});
    this.#progress = new WorkInProgress(rooms, (skillId, restMs) => this.#leave(flagOf(skillId), restMs));
    this.#working = place.scope.runInAsyncScope(() => this.#work());
  }

  /** graphile-worker is told by the database. */
  wake(): void {}

  stop(graceMs: number): Promise<void> {
    this.#stopping ??= this.#stop(graceMs);
    return this.#stopping;
  }

  async #stop(graceMs: number): Promise<void> {
    this.#ending.abort();
    clearInterval(this.#upkeep);
    const pool = this.#pool;
    const ended = pool?.gracefulShutdown().catch(() => {});
    await this.#progress.finish(graceMs);
    const limit = new AbortController();
    const tooLong = sleep(END_LIMIT_MS, undefined, { signal: limit.signal }).catch(() => {});
    await Promise.race([Promise.all([ended, this.#working]), tooLong]);
    limit.abort();
    if (pool !== undefined) await this.#rooms.store.write(() => deletePool(pool.id)).catch(() => {});
  }

  /** Runs one pool after the other: a pool gives up when the database was away for long. Never rejects. */
  async #work(): Promise<void> {
    while (!this.#ending.signal.aborted) {
      try {
        await this.#jobs.prepare();
        if (this.#ending.signal.aborted) return;
        await this.#runPool();
      } catch (error) {
        if (isSkillError(error) && error.code === "STORE_DRIVER_UNAVAILABLE") return this.#giveUp(error);
        if (!this.#ending.signal.aborted) this.#rooms.logger.warn({ err: error }, "jobs cannot be taken; it is tried again");
      }
      await sleep(START_AGAIN_MS, undefined, { signal: this.#ending.signal }).catch(() => {});
    }
  }

  #giveUp(error: unknown): void {
    if (this.#place.isBackground) this.#rooms.logger.debug({ err: error }, "no work for later is done here");
    else this.#rooms.logger.error({ err: error }, "the worker cannot start");
  }

  async #runPool(): Promise<void> {
    // Asked now, so that the first container need not wait for it.
    void this.#engine.answers;
    this.#refreshTasks();
    const pool = this.#jobs.run({
      concurrency: this.#config.concurrency,
      tasks: this.#tasks,
      forbiddenFlags: () => this.#forbiddenFlags(),
      log: this.#log,
    });
    this.#pool = pool;
    this.#upkeep = setInterval(() => void this.#keepUp(), UPKEEP_MS);
    void this.#keepUp();
    try {
      await pool.promise;
    } finally {
      clearInterval(this.#upkeep);
      if (!this.#ending.signal.aborted) await this.#rooms.store.write(() => deletePool(pool.id)).catch(() => {});
    }
  }

  /** Says that this pool lives, frees what dead ones have locked, and gives work that lost its job a new one. */
  async #keepUp(): Promise<void> {
    const pool = this.#pool;
    if (pool === undefined || this.#isKeepingUp || this.#ending.signal.aborted) return;
    this.#isKeepingUp = true;
    const { store, instanceId, logger } = this.#rooms;
    const { schema } = this.#jobs;
    try {
      await store.write(() => keepPool(pool.id, instanceId));
      const dead = await store.read(listDeadPools(schema));
      if (dead.length > 0) {
        await this.#jobs.unlock(dead);
        await this.#jobs.deleteReplaced();
        await store.write(() => deleteDeadPools(dead));
        logger.info({ pools: dead }, "jobs of workers that are gone are free again");
      }
      if (dead.length > 0 || performance.now() - this.#mendedAtMs > MEND_EVERY_MS) {
        const mended = await store.write(() => mendJobs(schema));
        if (mended > 0) logger.info({ mended }, "work without a job has got one");
        this.#mendedAtMs = performance.now();
      }
      if (!Object.hasOwn(this.#tasks, CONTAINER_TASK) && (await store.read(hasContainerJobs(schema)))) void this.#engine.answers;
    } catch (error) {
      logger.debug({ err: error }, "the upkeep of jobs failed; it is tried again");
    } finally {
      this.#isKeepingUp = false;
    }
  }

  /** Called before each look for a job. */
  async #forbiddenFlags(): Promise<string[]> {
    this.#refreshTasks();
    // While all skills are off, their work waits.
    if (!(await this.#rooms.registry.getSkillsEnabled())) return [EVERY_JOB];
    const nowMs = performance.now();
    for (const [flag, untilMs] of this.#leftAlone) if (untilMs <= nowMs) this.#leftAlone.delete(flag);
    return [...this.#leftAlone.keys()];
  }

  #leave(flag: string, forMs: number): void {
    this.#leftAlone.set(flag, performance.now() + forMs);
  }

  #refreshTasks(): void {
    const perform = (payload: unknown) => this.#perform(payload as JobPayload);
    for (const name of this.#rooms.executor.handlerNames()) this.#tasks[taskOf(name)] ??= perform;
    if (this.#engine.isKnownToAnswer) this.#tasks[CONTAINER_TASK] ??= perform;
    else delete this.#tasks[CONTAINER_TASK];
    // A pool cannot be without tasks.
    this.#tasks["none"] ??= async () => {};
  }

  /** Does the work that a job stands for. A job whose work is gone, or with somebody else, is done. */
  async #perform({ executionId, skill }: JobPayload): Promise<void> {
    const { store, instanceId } = this.#rooms;
    const judged = await this.#judge(skill);
    if ("handler" in judged) {
      this.#leave(flagOf(skill.id), LEAVE_MS);
      await store.write(() => passJobOn(this.#jobs.schema, executionId, judged.handler));
      return;
    }
    const work = await this.#jobs.takeWork({ id: executionId, ...judged }, instanceId);
    if (work !== undefined) await this.#progress.perform(work);
  }

  /** Whether it may be taken again when this process dies; the handler that it needs when it cannot be done here. What can never be run is taken, to be refused. */
  async #judge({ name, version, owner }: JobPayload["skill"]): Promise<{ idempotent: boolean } | { handler: string | null }> {
    const { registry, executor } = this.#rooms;
    try {
      const head = await registry.resolve({ name, range: version }, owner);
      const { skill } = await registry.runnable(head);
      const canDo = skill.handler === null ? this.#engine.isKnownToAnswer : executor.hasHandler(skill);
      return canDo ? { idempotent: skill.idempotent === true } : { handler: skill.handler };
    } catch (error) {
      if (isSkillError(error) && !error.retryable) return { idempotent: false };
      throw error;
    }
  }

  readonly #log: LogJobs = (level, message, meta) => {
    const { logger } = this.#rooms;
    const fields = meta?.error === undefined ? {} : { err: meta.error };
    if (level === "error" || level === "warning") logger.warn(fields, `graphile-worker: ${message}`);
    else logger.debug(fields, `graphile-worker: ${message}`);
  };
}
