// Starts it as a user does, has reports made while the worker of one of them is killed, and looks at them through the other web process.
// Without a PostgreSQL it says so and ends with the code for what was skipped.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const REPORTS = 12;
const SECONDS = 2;
/** Of the first one: long enough to be in the middle of it when its worker is known. */
const LONG_SECONDS = 10;
const LIMIT_MS = 60_000;
const UNAVAILABLE = 3;
const SKIPPED = 77;

const cluster = spawn(process.execPath, [fileURLToPath(new URL("run.js", import.meta.url))], {
  env: { ...process.env, PORT: "0" },
  stdio: ["ignore", "pipe", "inherit"],
});
const ended = once(cluster, "exit");
const said = await whatItSays();
if (said === undefined) {
  const [code] = await ended;
  console.log("cluster: nothing was checked.");
  process.exitCode = code === UNAVAILABLE ? SKIPPED : 1;
} else {
  try {
    await check(said);
  } finally {
    cluster.kill("SIGTERM");
  }
  const [code] = await ended;
  assert.equal(code, 0, "everything stops cleanly");
  console.log("cluster: every report was made");
}

/** @param {{ first: string, second: string, key: string, workers: readonly number[] }} said */
async function check({ first, second, key, workers }) {
  /** @type {string[]} */
  const ids = [];
  for (let month = 1; month <= REPORTS; month++) {
    const response = await fetch(`${first}/reports`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ month, seconds: month === 1 ? LONG_SECONDS : SECONDS }),
    });
    assert.equal(response.status, 202);
    const { id } = /** @type {any} */ (await response.json());
    ids.push(id);
  }
  const authorization = `Bearer ${key}`;
  /** @returns {Promise<any>} */
  const read = async (/** @type {string} */ id) =>
    (await fetch(`${second}/api/executions/${id}`, { headers: { authorization } })).json();
  const victim = await workerOf(`${second}/api/executions/${ids[0]}/events`, authorization);
  assert.ok(workers.includes(victim), "a worker does it");
  process.kill(victim, "SIGKILL");
  for (const [index, id] of ids.entries()) {
    await until(async () => (await read(id)).finishedAt !== null);
    const { status, output } = await read(id);
    assert.deepEqual([status, output.month], ["SUCCESS", index + 1]);
    assert.ok(workers.includes(output.pid), "a worker did it");
    if (index === 0) assert.notEqual(output.pid, victim, "the other worker took it over");
  }
  assert.equal((await fetch(`${second}/api/executions`)).status, 401);
}

/**
 * Which process does the work, as its progress says.
 *
 * @param {string} events
 * @param {string} authorization
 */
async function workerOf(events, authorization) {
  const { body } = await fetch(events, { headers: { authorization } });
  let text = "";
  for await (const chunk of /** @type {ReadableStream<Uint8Array>} */ (body).pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const [, pid] = /"process (\d+)"/.exec(text) ?? [];
    if (pid !== undefined) return Number(pid);
  }
  throw new Error(`It ended without a word of its worker: ${text}`);
}

/** @param {() => Promise<boolean>} condition */
async function until(condition) {
  const untilMs = performance.now() + LIMIT_MS;
  while (!(await condition())) {
    if (performance.now() > untilMs) throw new Error("It takes too long");
    await delay(100);
  }
}

async function whatItSays() {
  let text = "";
  for await (const chunk of cluster.stdout.setEncoding("utf8").iterator({ destroyOnReturn: false })) {
    text += chunk;
    const [, first, second, ...workers] =
      /listen on (http:\S+) and (http:\S+); the workers are processes (\d+) and (\d+)/.exec(text) ?? [];
    const key = /#token=(\S+)/.exec(text)?.[1];
    if (first === undefined || second === undefined || key === undefined) continue;
    cluster.stdout.resume();
    return { first, second, key, workers: workers.map(Number) };
  }
  return undefined;
}
