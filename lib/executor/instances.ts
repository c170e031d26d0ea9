import { hostname } from "node:os";
import { isProcessAlive } from "../process-alive.js";
import { deleteOrphanedCancelRequests } from "../store/cancel-requests.js";
import {
  beatInstance,
  deleteInstance,
  hasOrphans,
  insertInstance,
  interruptExecutionsOf,
  interruptOrphans,
  listInstances,
} from "../store/instances.js";
import { deleteEndedWork, hasEndedWork, rescueWork } from "../store/queued-work.js";
import type { InstanceRow } from "../store/rows.js";
import type { Store } from "../store/store.js";
import type { Logger } from "../types.js";

const HEARTBEAT_MS = 10_000;
/** With `SWEEP_MS` less than 60 s: what a dead instance leaves is taken care of within that time. */
export const DEAD_AFTER_MS = 40_000;
export const SWEEP_MS = 10_000;
/** After a time in which this instance could not tell that it lives, others may have been kept from it as well: they get time to tell. */
const AWAY_AFTER_MS = 2 * HEARTBEAT_MS;
const TRUST_AFTER_MS = 2 * HEARTBEAT_MS;
/** Work that was taken this often, and whose process died each time, is not tried again: it may be what kills them. */
const MAX_TAKES = 5;

/**
 * This kit as a row in `instances`, kept alive by a heartbeat. At start and every 10 s the RUNNING executions of dead instances become
 * INTERRUPTED, or QUEUED again when they are queued work that may run twice: an instance is dead when its host is this one and its process
 * is gone, or when its heartbeat is older than 40 s.
 */
export class Instance {
  readonly id: string;
  readonly #store: Store;
  readonly #logger: Logger;
  readonly #timers: NodeJS.Timeout[] = [];
  #beatAtMs = Date.now();
  /** Since when its heartbeat has been regular; always, as far as an instance knows that has just started. */
  #steadySinceMs = Number.NEGATIVE_INFINITY;

  constructor(id: string, store: Store, logger: Logger) {
    this.id = id;
    this.#store = store;
    this.#logger = logger;
  }

  async open(): Promise<void> {
    await this.#insert();
    await this.sweep();
    this.#every(HEARTBEAT_MS, "heartbeat", () => this.#beat());
    this.#every(SWEEP_MS, "sweep of dead instances", () => this.sweep());
  }

  /** Marks what dead instances left running; returns how many. */
  async sweep(): Promise<number> {
    const instances = await this.#store.read(listInstances());
    const isDeadHere = this.#canTrustHeartbeats() ? isDead : isEnded;
    const dead = instances.filter((instance) => instance.id !== this.id && isDeadHere(instance)).map(({ id }) => id);
    // Most of the time there is nothing to do, and a transaction would hold up others.
    if (dead.length === 0 && !(await this.#store.read(hasOrphans()))) {
      await this.#deleteEndedWork();
      return 0;
    }
    const nowIso = new Date().toISOString();
    const { interrupted, queuedAgain } = await this.#store.write(function* () {
      for (const id of dead) yield* deleteInstance(id);
      const rescued = yield* rescueWork(MAX_TAKES);
      const ended = (yield* interruptExecutionsOf(dead, nowIso)) + (yield* interruptOrphans(nowIso));
      yield* deleteEndedWork();
      yield* deleteOrphanedCancelRequests();
      return { interrupted: ended, queuedAgain: rescued.length };
    });
    if (interrupted > 0)
      this.#logger.warn({ interrupted, instances: dead }, "executions of a process that ended are marked INTERRUPTED");
    if (queuedAgain > 0) this.#logger.warn({ queuedAgain, instances: dead }, "work of a process that ended waits again");
    return interrupted;
  }

  /** Of the living too: the database was away when they wanted to do it. */
  async #deleteEndedWork(): Promise<void> {
    if (await this.#store.read(hasEndedWork())) await this.#store.write(() => deleteEndedWork());
  }

  async close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    try {
      await this.#store.write(() => deleteInstance(this.id));
    } catch (error) {
      this.#logger.warn(
        { err: error, instance: this.id },
        "the instance's row could not be removed; it goes when its heartbeat is old",
      );
    }
  }

  async #insert(): Promise<void> {
    const nowIso = new Date().toISOString();
    const row: InstanceRow = { id: this.id, host: hostname(), pid: process.pid, started_at: nowIso, heartbeat_at: nowIso };
    await this.#store.write(() => insertInstance(row));
  }

  /** Another process may have taken this one for dead while it was suspended: then the row is made again. */
  async #beat(): Promise<void> {
    const alive = await this.#store.write(() => beatInstance(this.id, new Date().toISOString()));
    if (!alive) await this.#insert();
    const nowMs = Date.now();
    if (nowMs - this.#beatAtMs > AWAY_AFTER_MS) this.#steadySinceMs = nowMs;
    this.#beatAtMs = nowMs;
  }

  #canTrustHeartbeats(): boolean {
    const nowMs = Date.now();
    return nowMs - this.#beatAtMs <= AWAY_AFTER_MS && nowMs - this.#steadySinceMs >= TRUST_AFTER_MS;
  }

  #every(ms: number, what: string, work: () => Promise<unknown>): void {
    const timer = setInterval(() => {
      work().catch((error: unknown) => this.#logger.warn({ err: error }, `${what} failed; it is tried again`));
    }, ms);
    timer.unref();
    this.#timers.push(timer);
  }
}

/** Whether what it was running has ended without an outcome. */
export function isDead(instance: InstanceRow): boolean {
  return Date.now() - Date.parse(instance.heartbeat_at) > DEAD_AFTER_MS || isEnded(instance);
}

/** Whether its process is gone, as far as this host can tell. */
function isEnded(instance: InstanceRow): boolean {
  if (instance.host !== hostname()) return false;
  if (instance.pid !== process.pid) return !isProcessAlive(instance.pid);
  // The number of a process is used again: a row older than this process is of an earlier one (always so where the number is 1).
  return Date.parse(instance.started_at) < Date.now() - process.uptime() * 1000 - 1;
}
