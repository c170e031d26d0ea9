import { setTimeout as delay } from "node:timers/promises";
import { sqliteFault } from "./sqlite-errors.js";

/**
 * Tries again while another process holds the lock, at most `limitMs`; then throws the last busy error. It waits between the tries
 * and never inside SQLite, where a wait would stop the whole process.
 */
export async function retryWhileBusy<T>(attempt: () => T | Promise<T>, limitMs: number): Promise<T> {
  const end = performance.now() + limitMs;
  for (let waitMs = shortestWaitMs; ; waitMs = Math.min(waitMs * 2, longestWaitMs)) {
    try {
      return await attempt();
    } catch (error) {
      if (sqliteFault(error) !== "busy" || performance.now() >= end) throw error;
    }
    // Half of it by chance, so that processes that met once do not meet again.
    await delay(waitMs * (0.5 + Math.random() / 2));
  }
}

const shortestWaitMs = 5;
const longestWaitMs = 100;
