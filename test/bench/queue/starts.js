// One piece of work at a time, from before it is enqueued to the first line of what does it, in this process.
import { setTimeout as sleep } from "node:timers/promises";
import { createSkills } from "express-skills/core";
import { makeWorkerUtils, runTaskList } from "graphile-worker";
import { input, jobSettings, openPool, quiet, schema, work } from "./settings.js";

/** How long the worker is left to settle what it did: then it is idle when the next work comes. */
const SETTLE_MS = 25;
const LIMIT_MS = 10_000;

/** @param {string} url */
export async function startKit(url) {
  const start = startsOf();
  const kit = createSkills({ database: url, worker: { concurrency: jobSettings.concurrency }, logger: quiet });
  const handler = (/** @type {{ text: string }} */ received) => {
    start.tell();
    return work(received);
  };
  const handle = kit.define({ name: "measure", schema, handler });
  await kit.ready();
  return { measure: () => start.measure(() => kit.executor.enqueue(handle, input)), close: () => kit.close() };
}

/** @param {string} url */
export async function startJobs(url) {
  const start = startsOf();
  const pool = openPool(url);
  const utils = await makeWorkerUtils({ pgPool: pool, logger: jobSettings.logger });
  const task = async (/** @type {any} */ received) => {
    start.tell();
    work(received);
  };
  const workers = runTaskList({ ...jobSettings, pgPool: pool }, { measure: task }, pool);
  return {
    measure: () => start.measure(() => utils.addJob("measure", input)),
    async close() {
      await workers.gracefulShutdown();
      await utils.release();
      await pool.end();
    },
  };
}

function startsOf() {
  /** @type {(atMs: number) => void} */
  let onStart = () => {};
  return {
    tell: () => onStart(performance.now()),
    /** @param {() => Promise<unknown>} enqueue */
    async measure(enqueue) {
      /** @type {Promise<number>} */
      const started = new Promise((resolve) => {
        onStart = resolve;
      });
      const beganAtMs = performance.now();
      await enqueue();
      const startedAtMs = await Promise.race([started, sleep(LIMIT_MS, undefined, { ref: false })]);
      if (startedAtMs === undefined) throw new Error(`Work did not start within ${LIMIT_MS} ms`);
      await sleep(SETTLE_MS);
      return startedAtMs - beganAtMs;
    },
  };
}
