import { deleteDeadPools, deletePool, keepPool, listDeadPools, listUnknownPools, MAX_MENDED, mendJobs } from "../store/jobs.js";
import type { JobPool } from "../store/postgres-jobs.js";
import type { StoreJobs } from "../store/store.js";
import type { WorkerRooms } from "./worker.js";

/** With the time until an instance counts as dead it is less than a minute until its work is taken again. */
export const UPKEEP_MS = 5_000;
const MEND_EVERY_MS = 15_000;

type UpkeepRooms = Pick<WorkerRooms, "store" | "instanceId" | "logger">;

/**
 * Sees to it that no job is lost: in each of its rounds it says that this worker's pools live, frees what dead ones have locked, and gives work
 * that lost its job a new one. After a database that was away it has its pools take no more, so that the worker begins a new one.
 */
export class JobUpkeep {
  readonly #rooms: UpkeepRooms;
  readonly #jobs: StoreJobs;
  readonly #onRound: () => Promise<void>;
  readonly #timer: NodeJS.Timeout;
  /** The one that takes jobs is the last; the others end what they began. */
  readonly #pools = new Set<JobPool>();
  #isKeepingUp = false;
  #isAway = false;
  #mendedAtMs = Number.NEGATIVE_INFINITY;
  #isEnding = false;

  /** `onRound` is called in each round, for what else is asked of the database; when it rejects, the database counts as away. */
  constructor(rooms: UpkeepRooms, jobs: StoreJobs, onRound: () => Promise<void>) {
    this.#rooms = rooms;
    this.#jobs = jobs;
    this.#onRound = onRound;
    this.#timer = setInterval(() => void this.#keepUp(), UPKEEP_MS);
  }

  /** Told of a pool that begins to take jobs. */
  add(pool: JobPool): void {
    this.#pools.add(pool);
    this.#isAway = false;
    this.#mendedAtMs = Number.NEGATIVE_INFINITY;
    void this.#bury(pool);
    void this.#keepUp();
  }

  /** Has its pools take no more, and begins no further round. */
  shutDown(): void {
    this.#isEnding = true;
    clearInterval(this.#timer);
    for (const pool of this.#pools) pool.shutDown();
  }

  /** After `shutDown()`: resolves when the jobs of its pools have ended. Never rejects. */
  async ended(): Promise<void> {
    await Promise.allSettled([...this.#pools].map((pool) => pool.ended));
  }

  /** After `ended()`: says that its pools are gone. Never rejects: what cannot be said is seen by others once this instance has ended. */
  async forgetPools(): Promise<void> {
    await Promise.allSettled([...this.#pools].map((pool) => this.#rooms.store.write(() => deletePool(pool.id))));
  }

  /** Frees what it could not tell the end of. Never rejects: where the database is away, that is for whoever finds a pool that nobody knows. */
  async #bury(pool: JobPool): Promise<void> {
    await pool.ended.catch((error: unknown) => this.#rooms.logger.debug({ err: error }, "a pool of jobs gave up"));
    if (this.#isEnding) return;
    this.#pools.delete(pool);
    const forget = () => this.#rooms.store.write(() => deletePool(pool.id));
    await this.#jobs
      .unlock([pool.id])
      .then(forget, forget)
      .catch(() => {});
  }

  /** Says that its pools live, frees what dead ones have locked, and gives work that lost its job a new one. */
  async #keepUp(): Promise<void> {
    if (this.#pools.size === 0 || this.#isKeepingUp || this.#isEnding) return;
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
      await this.#onRound();
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
    } while (mended === MAX_MENDED && !this.#isEnding);
    this.#mendedAtMs = performance.now();
  }

  /** Where a pool's look for a job met a database that starts or cannot be reached, it rests for up to two minutes. */
  #replacePool(): void {
    this.#isAway = false;
    for (const pool of this.#pools) pool.shutDown();
  }
}
