// Work enqueued ahead, and two processes that do it.
import { fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createSkills } from "express-skills/core";
import { makeWorkerUtils } from "graphile-worker";
import pg from "pg";
import { idAt } from "../ids.js";
import { input, jobSettings, openPool, quiet, schema, work } from "./settings.js";

const PROCESSES = 2;
const ENQUEUED_AT_ONCE = 10;
const LOOK_MS = 20;
const LIMIT_MS = 60_000;
const script = fileURLToPath(new URL("worker.js", import.meta.url));

/** @param {string} url */
export async function openKit(url) {
  const kit = createSkills({ database: url, worker: false, logger: quiet });
  const handle = kit.define({ name: "measure", schema, handler: work });
  await kit.ready();
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  return {
    kind: "kit",
    url,
    enqueue: (/** @type {number} */ jobs) => repeat(jobs, () => kit.executor.enqueue(handle, input)),
    untilDone: () => untilDone(pool, "express_skills_jobs"),
    clear: (/** @type {number} */ jobs) => clear(pool, jobs),
    close: () => Promise.all([kit.close(), pool.end()]),
  };
}

/**
 * The audit by hand: its row is inserted with the job, and updated by the task.
 * @param {string} url
 */
export async function openJobs(url) {
  const pool = openPool(url);
  const utils = await makeWorkerUtils({ pgPool: pool, logger: jobSettings.logger });
  let count = 0;
  const enqueue = async () => {
    const now = Date.now();
    const id = idAt(now, ++count);
    const values = [id, "s", "measure", "1.0.0", "default", id, "i", JSON.stringify(input), new Date(now).toISOString()];
    await pool.query({
      name: "insert",
      text: `insert into skill_executions (id, skill_id, skill_name, skill_version, api_key_id, root_id, instance_id, status, input,
        input_state, output_state, attempts, created_at) values ($1, $2, $3, $4, $5, $6, $7, 'QUEUED', $8, 'whole', 'none', 0, $9)`,
      values,
    });
    await utils.addJob("measure", { id, input });
  };
  return {
    kind: "jobs",
    url,
    enqueue: (/** @type {number} */ jobs) => repeat(jobs, enqueue),
    untilDone: () => untilDone(pool, "graphile_worker"),
    clear: (/** @type {number} */ jobs) => clear(pool, jobs),
    async close() {
      await utils.release();
      await pool.end();
    },
  };
}

/**
 * Processes that are ready, and take no work before they are told.
 * @param {string} kind
 * @param {string} url
 */
export async function startWorkers(kind, url) {
  const children = Array.from({ length: PROCESSES }, () =>
    fork(script, [kind, url], { stdio: ["ignore", "ignore", "inherit", "ipc"] }),
  );
  const exits = children.map((child) => once(child, "exit"));
  /** @param {string} [message] */
  const ask = async (message) => {
    const answers = children.map((child) => once(child, "message", { signal: AbortSignal.timeout(LIMIT_MS) }));
    if (message !== undefined) for (const child of children) child.send(message);
    const gone = Promise.race(exits).then(() => {
      throw new Error(`A worker of ${kind} ended by itself`);
    });
    await Promise.race([Promise.all(answers), gone]);
  };
  const end = async () => {
    for (const child of children) if (child.connected) child.disconnect();
    const killing = setTimeout(() => children.forEach((child) => void child.kill("SIGKILL")), LIMIT_MS / 10);
    await Promise.all(exits);
    clearTimeout(killing);
  };
  try {
    await ask();
  } catch (error) {
    await end();
    throw error;
  }
  return { start: () => ask("start"), stop: () => ask("stop"), end };
}

/**
 * @param {number} times
 * @param {() => Promise<unknown>} call
 */
async function repeat(times, call) {
  let waiting = times;
  const worker = async () => {
    while (waiting > 0) {
      waiting -= 1;
      await call();
    }
  };
  await Promise.all(Array.from({ length: ENQUEUED_AT_ONCE }, worker));
}

/**
 * Waits until nothing is left in the queue and every execution has ended.
 * @param {pg.Pool} pool
 * @param {string} jobSchema
 */
async function untilDone(pool, jobSchema) {
  const text = `select exists (select from ${jobSchema}._private_jobs) or exists (select from queued_work)
    or exists (select from skill_executions where status in ('QUEUED', 'RUNNING')) as is_working`;
  for (const untilMs = performance.now() + LIMIT_MS; ; await sleep(LOOK_MS)) {
    const { rows } = await pool.query({ name: "look", text });
    if (rows[0].is_working === false) break;
    if (performance.now() > untilMs) throw new Error(`The jobs took more than ${LIMIT_MS} ms`);
  }
}

/**
 * Deletes the executions of as many jobs, which have all ended well.
 * @param {pg.Pool} pool
 * @param {number} jobs
 */
async function clear(pool, jobs) {
  const { rowCount } = await pool.query("delete from skill_executions where status = 'SUCCESS'");
  if (rowCount !== jobs) throw new Error(`${rowCount} of ${jobs} jobs ended well`);
}
