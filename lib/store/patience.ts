import { setTimeout as delay } from "node:timers/promises";
import { sqliteFault } from "./sqlite-errors.js";

/**
 * Tries again while another process holds the lock, at most `limitMs`; then throws the last busy error. It waits between the tries
 * and never inside SQLite, where a wait would stop the whole process.
 * @param isBusy which errors a try a moment later can cure; by default those of a locked SQLite file
 */
export async function retryWhileBusy<T>(
  attempt: () => T | Promise<T>,
  limitMs: number,
  isBusy: (error: unknown) => boolean = (error) => sqliteFault(error) === "busy",
): Promise<T> {
  const end = performance.now() + limitMs;
  for (let waitMs = shortestWaitMs; ; waitMs = Math.min(waitMs * 2, longestWaitMs)) {
    try {
      return await attempt();
    } catch (error) {
      if (!isBusy(error) || performance.now() >= end) throw error;
    }
    // Half of it by chance, so that processes that met once do not meet again.
    await delay(waitMs * (0.5 + Math.random() / 2));
  }
}

const shortestWaitMs = 5;
const longestWaitMs = 100;
