import { setImmediate as nextTurn } from "node:timers/promises";
import { pruneExecutions } from "../store/executions.js";
import type { Store } from "../store/store.js";
import type { Logger } from "../types.js";

const BATCH = 500;
const EVERY_MS = 60 * 60 * 1000;
const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * Deletes executions made more than `retentionDays` days ago, at start and every hour, in batches of 500 with a turn of the event loop
 * between. Returns a function that stops it.
 */
export function startRetention(store: Store, retentionDays: number, logger: Logger): () => void {
  let stopped = false;
  const round = async () => {
    try {
      const deleted = await prune(store, retentionDays, () => stopped);
      if (deleted > 0) logger.info({ deleted, retentionDays }, "old executions are deleted");
    } catch (error) {
      if (!stopped) logger.warn({ err: error }, "old executions could not be deleted; it is tried again in an hour");
    }
  };
  void round();
  const timer = setInterval(() => void round(), EVERY_MS);
  timer.unref();
  return () => {
    stopped = true;
    clearInterval(timer);
  };
}

async function prune(store: Store, retentionDays: number, isStopped: () => boolean): Promise<number> {
  const beforeIso = new Date(Date.now() - retentionDays * DAY_MS).toISOString();
  for (let total = 0; ; ) {
    if (isStopped()) return total;
    const deleted = await store.write(() => pruneExecutions(beforeIso, BATCH));
    total += deleted;
    if (deleted < BATCH) return total;
    await nextTurn();
  }
}
