import { setTimeout as sleep } from "node:timers/promises";
import type { SlotStats } from "../types.js";
import { createAdmission } from "./admission.js";
import type { Container } from "./container.js";
import type { StartedContainer } from "./start-container.js";

/** A container started ahead that waits for one input. */
interface Slot {
  readonly started: StartedContainer;
  /** Given to a call, or given up: never offered again. */
  spent: boolean;
  idle: NodeJS.Timeout | undefined;
}

/** The slots of one key: all of them are exactly alike. */
interface Pool {
  readonly key: string;
  readonly wanted: number;
  readonly start: () => Promise<StartedContainer>;
  readonly slots: Set<Slot>;
  starting: number;
  /** Containers that are not offered yet. */
  readonly launched: Set<Container>;
  /** Slots that died one after another, without one that served in between. */
  failures: number;
  retry: NodeJS.Timeout | undefined;
  usedAt: number;
  drained: boolean;
}

export interface Slots {
  /** Takes a slot that is ready, for good; `null` when there is none, at once. */
  claim(key: string): StartedContainer | null;
  /** Keeps `wanted` slots of a key ready from now on. Runs in the background. */
  keep(key: string, wanted: number, start: () => Promise<StartedContainer>): void;
  /** Tells that a slot's container served well. */
  served(key: string): void;
  /** Ends the slots of a key. */
  drain(key: string): void;
  /** Ends all slots and starts none any more. */
  close(): void;
  /** Resolves when no slot is being started. */
  settled(): Promise<void>;
  stats(): SlotStats;
}

export interface SlotsOptions {
  readonly maxSlots: number;
  readonly slotIdleMs: number;
}

const startsAtOnce = 2;
/** How long a command line program takes to notice that its container ended. */
const firstSettleMs = 750;
const laterSettleMs = 5000;
const firstRetryMs = 500;
const longestRetryMs = 60_000;

export function createSlots(options: SlotsOptions): Slots {
  const pools = new Map<string, Pool>();
  // Refills wait for each other, so that they do not slow down the calls.
  const starts = createAdmission({ maxConcurrent: startsAtOnce, maxQueued: 1_000_000, queueTimeoutMs: 2 ** 31 - 1 });
  const counts = { hits: 0, first: 0, starting: 0, taken: 0, failing: 0, idleDeaths: 0, evicted: 0 };
  const underWay = new Set<Promise<void>>();
  let closed = false;

  const total = () => [...pools.values()].reduce((sum, pool) => sum + pool.slots.size + pool.starting, 0);

  const giveUp = (pool: Pool, slot: Slot) => {
    slot.spent = true;
    clearTimeout(slot.idle);
    pool.slots.delete(slot);
    slot.started.container.end("drain");
    void slot.started.release();
  };

  const makeRoom = (pool: Pool): boolean => {
    if (total() < options.maxSlots) return true;
    const oldest = [...pools.values()]
      .filter((other) => other !== pool && other.slots.size > 0)
      .sort((a, b) => a.usedAt - b.usedAt)[0];
    const [slot] = oldest?.slots ?? [];
    if (oldest === undefined || slot === undefined || oldest.usedAt > pool.usedAt) return false;
    counts.evicted += 1;
    giveUp(oldest, slot);
    return true;
  };

  const failed = (pool: Pool) => {
    if (pool.drained) return;
    pool.failures += 1;
    clearTimeout(pool.retry);
    const delayMs = Math.min(longestRetryMs, firstRetryMs * 2 ** Math.min(20, pool.failures - 1));
    pool.retry = setTimeout(() => {
      pool.retry = undefined;
      refill(pool);
    }, delayMs).unref();
  };

  const add = (pool: Pool, started: StartedContainer) => {
    const slot: Slot = { started, spent: false, idle: undefined };
    slot.idle = setTimeout(() => giveUp(pool, slot), options.slotIdleMs).unref();
    pool.slots.add(slot);
    void started.container.ended.then(() => {
      if (slot.spent) return;
      slot.spent = true;
      clearTimeout(slot.idle);
      pool.slots.delete(slot);
      void started.release();
      counts.idleDeaths += 1;
      failed(pool);
    });
    if (pool.drained) giveUp(pool, slot);
  };

  const startOne = async (pool: Pool) => {
    pool.starting += 1;
    const leave = await starts.enter(undefined);
    let launched: Container | undefined;
    try {
      if (pool.drained) return;
      const started = await pool.start();
      launched = started.container;
      pool.launched.add(launched);
      if (pool.drained) launched.end("drain");
      const isStarted = await started.container.started;
      leave();
      // A program that ends at once is not offered: the call that took it would fail.
      if (isStarted && (await hasSettled(started.container, pool.failures))) return add(pool, started);
      void started.release();
      if (isStarted && !pool.drained) counts.idleDeaths += 1;
      failed(pool);
    } catch {
      failed(pool);
    } finally {
      if (launched !== undefined) pool.launched.delete(launched);
      pool.starting -= 1;
      leave();
    }
  };

  const refill = (pool: Pool) => {
    if (closed || pool.drained || pool.retry !== undefined) return;
    while (pool.slots.size + pool.starting < pool.wanted && makeRoom(pool)) {
      const start = startOne(pool).finally(() => underWay.delete(start));
      underWay.add(start);
    }
  };

  const drain = (pool: Pool) => {
    pool.drained = true;
    clearTimeout(pool.retry);
    pools.delete(pool.key);
    for (const slot of [...pool.slots]) giveUp(pool, slot);
    for (const container of pool.launched) container.end("drain");
  };

  return {
    claim(key) {
      const pool = pools.get(key);
      if (pool !== undefined) pool.usedAt = performance.now();
      for (const slot of pool?.slots ?? []) {
        if (slot.spent || slot.started.container.isEnded) continue;
        // Marked before a byte is written: whatever happens next, it never serves again.
        slot.spent = true;
        clearTimeout(slot.idle);
        pool?.slots.delete(slot);
        counts.hits += 1;
        return slot.started;
      }
      counts[missReason(pool)] += 1;
      return null;
    },
    keep(key, wanted, start) {
      if (closed) return;
      let pool = pools.get(key);
      if (pool !== undefined && pool.wanted !== wanted) {
        drain(pool);
        pool = undefined;
      }
      pool ??= {
        key,
        wanted,
        start,
        slots: new Set(),
        launched: new Set(),
        starting: 0,
        failures: 0,
        retry: undefined,
        usedAt: 0,
        drained: false,
      };
      pool.usedAt = performance.now();
      pools.set(key, pool);
      refill(pool);
    },
    served(key) {
      const pool = pools.get(key);
      if (pool !== undefined) pool.failures = 0;
    },
    drain(key) {
      const pool = pools.get(key);
      if (pool !== undefined) drain(pool);
    },
    close() {
      closed = true;
      for (const pool of [...pools.values()]) drain(pool);
    },
    async settled() {
      while (underWay.size > 0) await Promise.allSettled([...underWay]);
    },
    stats() {
      const { hits, idleDeaths, evicted, ...misses } = counts;
      const all = [...pools.values()];
      return {
        hits,
        misses,
        idleDeaths,
        evicted,
        waiting: all.reduce((sum, pool) => sum + pool.slots.size, 0),
        starting: all.reduce((sum, pool) => sum + pool.starting, 0),
      };
    },
  };
}

/** Whether a container lives on for a while; for longer where others of its kind did not. */
async function hasSettled(container: Container, failures: number): Promise<boolean> {
  const timer = new AbortController();
  const settleMs = failures === 0 ? firstSettleMs : laterSettleMs;
  await Promise.race([container.ended, sleep(settleMs, undefined, { ref: false, signal: timer.signal }).catch(() => {})]);
  timer.abort();
  return !container.isEnded;
}

function missReason(pool: Pool | undefined): "first" | "starting" | "taken" | "failing" {
  if (pool === undefined) return "first";
  if (pool.retry !== undefined) return "failing";
  return pool.starting > 0 ? "starting" : "taken";
}
