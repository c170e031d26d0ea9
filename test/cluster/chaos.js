import { setTimeout as delay } from "node:timers/promises";

const FIRST_MS = 2_000;
const BETWEEN_MS = /** @type {const} */ ([1_500, 5_000]);
const AWAY_MS = /** @type {const} */ ([300, 2_000]);
const MIN_READY = 4;
/** When the database is restarted, as parts of the load. */
const RESTARTS = [0.3, 0.65];

/**
 * Kills processes and restarts the database while a load runs.
 *
 * @param {object} parts
 * @param {import("./processes.js").Processes} parts.processes
 * @param {import("./database.js").ClusterDatabase} parts.database
 * @param {import("./random.js").Random} parts.random
 * @param {() => number} parts.progress of the load, from 0 to 1
 * @param {(text: string) => void} parts.say
 */
export async function makeChaos({ processes, database, random, progress, say }) {
  const restarts = [...RESTARTS];
  const restartWhenDue = async () => {
    while (restarts.length > 0 && progress() < 1) {
      if (progress() >= (restarts[0] ?? 1)) {
        restarts.shift();
        await restart();
      }
      await delay(50);
    }
  };
  const restart = async () => {
    const awayMs = Math.round(random.between(...AWAY_MS));
    say(`PostgreSQL goes away for ${awayMs} ms`);
    await database.restart(awayMs);
  };
  const killAtRandom = async () => {
    await delay(FIRST_MS);
    while (progress() < 1) {
      // Not while half of them are starting still: on a slow machine nothing else would be done any more.
      const ready = processes.places.filter(({ isReady }) => isReady);
      if (ready.length >= MIN_READY) {
        const roleless = ready.filter(({ role }) => processes.killed[role] === 0);
        const place = random.pick(roleless.length > 0 ? roleless : ready);
        say(`SIGKILL to a ${place.role}, process ${place.child?.pid}`);
        processes.kill(place);
      }
      await delay(random.between(...BETWEEN_MS));
    }
  };
  await Promise.all([restartWhenDue(), killAtRandom()]);
  // A short load may be over before its time.
  for (const _ of restarts) await restart();
  return RESTARTS.length;
}
