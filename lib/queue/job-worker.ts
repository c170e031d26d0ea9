import { setTimeout as sleep } from "node:timers/promises";
import { isSkillError } from "../errors.js";
import type { JobTasks, LogJobs } from "../store/graphile-worker.js";
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
  listUnknownPools,
  MAX_MENDED,
  mendJobs,
  passJobOn,
  renewJob,
  taskOf,
} from "../store/jobs.js";
import type { JobPool } from "../store/postgres-jobs.js";
import type { StoreJobs } from "../store/store.js";
import { EngineWatch } from "./engine-watch.js";
import type { WorkerConfig } from "./options.js";
import { Places } from "./places.js";
import { WorkInProgress } from "./work-in-progress.js";
import type { Worker, WorkerPlace, WorkerRooms } from "./worker.js";

/** With the time until an instance counts as dead it is less than a minute until its work is taken again. */
export const UPKEEP_MS = 5_000;
const MEND_EVERY_MS = 15_000;
const START_AGAIN_MS = 1_000;
const MAX_START_AGAIN_MS = 10_000;
/** While all skills are off: how soon it is seen that they are on. */
const OFF_MS = 1_000;
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
  readonly #places: Places;
  readonly #ending = new AbortController();
  readonly #working: Promise<void>;
  /** The one that takes jobs is the last; the others end what they began. */
  readonly #pools = new Set<JobPool>();
  /** Jobs of which is being found out whether they are done here. */
  readonly #taking = new Set<Promise<unknown>>();
  readonly #upkeep: NodeJS.Timeout;
  #isKeepingUp = false;
  #isAway = false;
  #failures = 0;
  #mendedAtMs = Number.NEGATIVE_INFINITY;
  #stopping: Promise<void> | undefined;

  constructor(rooms: WorkerRooms, jobs: StoreJobs, config: WorkerConfig, place: WorkerPlace) {
    this.#rooms = rooms;
    this.#jobs = jobs;
    this.#config = config;
    this.#place = place;
    this.#places = new Places(config.concurrency);
    this.#engine = new EngineWatch(rooms.sandbox, () => {});
    this.#progress = new WorkInProgress(rooms, (skillId, restMs) => this.#leave(flagOf(skillId), restMs));
    this.#upkeep = setInterval(() => void this.#keepUp(), UPKEEP_MS);
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
    this.#places.open();
    const pools = [...this.#pools];
    for (const pool of pools) pool.shutDown();
    await atMost(Promise.allSettled(this.#taking));
    await this.#progress.finish(graceMs);
    await atMost(Promise.allSettled([...pools.map((pool) => pool.ended), this.#working]));
    const forgetting = [...this.#pools].map((pool) => this.#rooms.store.write(() => deletePool(pool.id)));
    await atMost(Promise.allSettled(forgetting));
  }

  /** Runs one pool after the other: a pool gives up when the database was away. Never rejects. */
  async #work(): Promise<void> {
    while (!this.#ending.signal.aborted) {
      try {
        this.#jobs.forget();
        await this.#jobs.prepare();
        if (this.#ending.signal.aborted) return;
        if (this.#failures > 0) this.#rooms.logger.info({}, "jobs are taken again");
        this.#failures = 0;
        await this.#runPool();
      } catch (error) {
        if (isSkillError(error) && error.code === "STORE_DRIVER_UNAVAILABLE") return this.#giveUp(error);
        if (!this.#ending.signal.aborted) this.#noteFailure(error);
      }
      const againMs = Math.min(MAX_START_AGAIN_MS, START_AGAIN_MS * Math.max(1, this.#failures));
      await sleep(againMs, undefined, { signal: this.#ending.signal }).catch(() => {});
    }
  }

  #noteFailure(error: unknown): void {
    if (this.#failures++ === 0) this.#rooms.logger.warn({ err: error }, "jobs cannot be taken; it is tried again");
    else this.#rooms.logger.debug({ err: error }, "jobs still cannot be taken");
  }

  #giveUp(error: unknown): void {
    if (this.#place.isBackground) this.#rooms.logger.debug({ err: error }, "no work for later is done here");
    else this.#rooms.logger.error({ err: error }, "the worker cannot start");
  }

  /** Ends when the pool takes no more, while what it began may go on for long. */
  async #runPool(): Promise<void> {
    // Asked now, so that the first container need not wait for it.
    void this.#engine.answers;
    this.#refreshTasks();
    const pool = this.#jobs.run({
      concurrency: this.#config.concurrency,
      tasks: this.#tasks,
      forbiddenFlags: () => this.#forbiddenFlags(),
      onLookEnd: () => this.#places.giveBack(),
      log: this.#log,
    });
    this.#pools.add(pool);
    this.#isAway = false;
    this.#mendedAtMs = Number.NEGATIVE_INFINITY;
    void this.#bury(pool);
    void this.#keepUp();
    await pool.shut;
  }

  /** Frees what it could not tell the end of. Never rejects: where the database is away, that is for whoever finds a pool that nobody knows. */
  async #bury(pool: JobPool): Promise<void> {
    await pool.ended.catch((error: unknown) => this.#rooms.logger.debug({ err: error }, "a pool of jobs gave up"));
    if (this.#ending.signal.aborted) return;
    this.#pools.delete(pool);
    const forget = () => this.#rooms.store.write(() => deletePool(pool.id));
    await this.#jobs
      .unlock([pool.id])
      .then(forget, forget)
      .catch(() => {});
  }

  /** Says that its pools live, frees what dead ones have locked, and gives work that lost its job a new one. */
  async #keepUp(): Promise<void> {
    if (this.#pools.size === 0 || this.#isKeepingUp || this.#ending.signal.aborted) return;
    this.#isKeepingUp = true;
    const { store, instanceId, logger } = this.#rooms;
    const { schema } = this.#jobs;
    try {
      for (const pool of this.#pools) await store.write(() => keepPool(pool.id, instanceId));
      const dead = await store.read(listDeadPools());
      const isMending = dead.length > 0 || performance.now() - this.#mendedAtMs > MEND_EVERY_MS;
      if (isMending) {
        await this.#unlock([...dead, ...(await store.read(listUnknownPools(schema)))]);
        await this.#mend();
      }
      if (!Object.hasOwn(this.#tasks, CONTAINER_TASK) && (await store.read(hasContainerJobs(schema)))) void this.#engine.answers;
      if (this.#isAway) this.#replacePool();
    } catch (error) {
      this.#isAway = true;
      logger.debug({ err: error }, "the upkeep of jobs failed; it is tried again");
    } finally {
      this.#isKeepingUp = false;
    }
  }

  async #unlock(pools: readonly string[]): Promise<void> {
    if (pools.length === 0) return;
    await this.#jobs.unlock(pools);
    await this.#jobs.deleteReplaced();
    await this.#rooms.store.write(() => deleteDeadPools(pools));
    this.#rooms.logger.info({ pools }, "jobs of workers that are gone are free again");
  }

  async #mend(): Promise<void> {
    const { store, logger } = this.#rooms;
    let mended: number;
    do {
      mended = await store.write(() => mendJobs(this.#jobs.schema));
      if (mended > 0) logger.info({ mended }, "work without a job has got one");
    } while (mended === MAX_MENDED && !this.#ending.signal.aborted);
    this.#mendedAtMs = performance.now();
  }

  /** Where a pool's look for a job met a database that starts or cannot be reached, it rests for up to two minutes. */
  #replacePool(): void {
    this.#isAway = false;
    for (const pool of this.#pools) pool.shutDown();
  }

  /** Called before each look for a job. */
  async #forbiddenFlags(): Promise<string[]> {
    await this.#places.take();
    this.#refreshTasks();
    // While all skills are off, their work waits, and nobody reads through all of it.
    while (!(await this.#rooms.registry.getSkillsEnabled())) {
      if (this.#ending.signal.aborted) return [EVERY_JOB];
      await sleep(OFF_MS, undefined, { signal: this.#ending.signal }).catch(() => {});
    }
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
  async #perform(payload: JobPayload): Promise<void> {
    const taking = this.#take(payload);
    this.#taking.add(taking);
    const performing = await taking.finally(() => this.#taking.delete(taking));
    await performing?.ended;
  }

  /** Gives what is done here, if anything. */
  async #take({ executionId, skill }: JobPayload): Promise<{ readonly ended: Promise<void> } | undefined> {
    const { store, instanceId } = this.#rooms;
    const { schema } = this.#jobs;
    if (this.#ending.signal.aborted) {
      await store.write(() => renewJob(schema, executionId));
      return undefined;
    }
    const judged = await this.#judge(skill);
    if ("handler" in judged) {
      this.#leave(flagOf(skill.id), LEAVE_MS);
      await store.write(() => passJobOn(schema, executionId, judged.handler));
      return undefined;
    }
    await this.#progress.settle(executionId);
    const taking = this.#jobs.takeWork({ id: executionId, ...judged }, instanceId);
    const work = await taking.catch((error: unknown) => {
      this.#progress.doubt(executionId);
      throw error;
    });
    return work && { ended: this.#progress.perform(work) };
  }

  /** Whether it may be taken again when this process dies; the handler that it needs when it cannot be done here. What can never be run is taken, to be refused. */
  async #judge({ name, version, owner }: JobPayload["skill"]): Promise<{ idempotent: boolean } | { handler: string | null }> {
    const { registry, executor } = this.#rooms;
    try {
      const head = await registry.resolve({ name, range: version }, owner);
      const { skill } = await registry.runnable(head);
      const canDo = skill.handler === null ? this.#engine.answers : executor.hasHandler(skill);
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

/** Keeps the process running meanwhile: what is waited for may be with connections that are gone. */
async function atMost(work: Promise<unknown>): Promise<void> {
  const done = new AbortController();
  const limit = sleep(END_LIMIT_MS, undefined, { signal: done.signal }).catch(() => {});
  await Promise.race([work, limit]);
  done.abort();
}
