// Posts good and bad programs, and looks at the answers. Needs a container engine, and the image of SANDBOXED_NODE_IMAGE in it, by default
// node:22-alpine; without them it says so and ends with the code for what was skipped.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { createApp } from "./app.js";

const { app, kit } = createApp({ database: ":memory:" });
const server = createServer(app).listen(0, "127.0.0.1");
await once(server, "listening");
const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
const url = `http://127.0.0.1:${port}`;

try {
  const problem = await whyNot();
  if (problem === undefined) {
    await checkGoodPrograms();
    await checkBadPrograms();
    if (process.env.SANDBOXED_PYTHON_IMAGE !== undefined) await checkPython();
    await checkExecutions();
    console.log("sandboxed: every answer is right");
  } else {
    console.log(`sandboxed: nothing was checked. ${problem}`);
    process.exitCode = 77;
  }
} finally {
  server.close();
  await kit.close({ graceMs: 0 });
  server.closeAllConnections();
}

/** Why no program can be run here; `undefined` when one can. */
async function whyNot() {
  try {
    await kit.sandbox.describe();
  } catch (error) {
    return /** @type {Error} */ (error).message;
  }
  const { status, body } = await post("javascript", "export default () => 1");
  return status === 503 ? `The image cannot be used (${body.code}).` : undefined;
}

async function checkGoodPrograms() {
  await slotsAreReady();
  const squares = await post("javascript", "export default (input) => input.map((n) => n * n)", [1, 2, 3]);
  assert.deepEqual(squares, { status: 200, body: { result: [1, 4, 9], log: [], servedFrom: "warm" } });

  // Each program has a container of its own: nothing is left of the one before.
  const write =
    "import fs from 'node:fs'; export default () => { fs.writeFileSync('/tmp/x', ''); return fs.readdirSync('/tmp'); }";
  const read = "import fs from 'node:fs'; export default () => fs.readdirSync('/tmp');";
  assert.deepEqual((await post("javascript", write)).body.result, ["x"]);
  assert.deepEqual((await post("javascript", read)).body.result, []);

  const own = await post("javascript", "export default () => { console.log('hello'); throw new RangeError('no') }");
  assert.deepEqual([own.status, own.body.error, own.body.log], [422, "RangeError: no", ["hello"]]);
  const variables = await post("javascript", "export default () => JSON.stringify(process.env)");
  assert.ok(!variables.body.result.includes(process.env.HOME ?? "/root/"), "the server's variables stay outside");
}

async function checkBadPrograms() {
  const loop = await post("javascript", "export default () => { for (;;); }");
  assert.deepEqual([loop.status, loop.body.error], [422, "The program did not end within 3 seconds."]);

  const hog = await post("javascript", "export default () => { const all = []; for (;;) all.push(Buffer.alloc(1e7, 1)); }");
  // On a busy machine the kernel may look for memory to take back until the time is over.
  assert.equal(hog.status, 422);
  assert.match(hog.body.error, /more than 128 MiB|within 3 seconds/);

  const bomb = `
    import { spawn } from "node:child_process";
    export default async () => {
      for (;;) {
        spawn("node", ["-e", "setInterval(() => {}, 1000)"]).on("error", () => {});
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
    }`;
  assert.equal((await post("javascript", bomb)).status, 422);

  const call = await post("javascript", "export default () => fetch('http://1.1.1.1')");
  assert.equal(call.status, 422);
  assert.match(call.body.error, /ENETUNREACH|EAI_AGAIN|ECONNREFUSED/);

  const flood = await post("javascript", "export default () => 'x'.repeat(1e6)");
  assert.match(flood.body.error, /more than 256 KiB/);

  // All of that leaves the server as it was.
  const after = await post("javascript", "export default () => 'still here'");
  assert.equal(after.body.result, "still here");
  assert.equal((await post("javascript", "")).status, 422);
}

async function checkPython() {
  const { body } = await post("python", "def main(input):\n    print('hi')\n    return sum(input)\n", [1, 2, 3]);
  assert.deepEqual([body.result, body.log], [6, ["hi"]]);
  const { body: failed } = await post("python", "def main(input):\n    return 1 / 0\n");
  assert.equal(failed.error, "ZeroDivisionError: division by zero");
}

async function checkExecutions() {
  const executions = /** @type {any[]} */ (await (await fetch(`${url}/executions`)).json());
  const of = (/** @type {(execution: any) => boolean} */ test) => executions.filter(test).length;
  assert.equal(of(({ status }) => status === "TIMEOUT") >= 1, true);
  assert.equal(of(({ sandbox }) => sandbox?.servedFrom === "warm") >= 1, true);
  assert.equal(of(({ sandbox }) => sandbox?.exitCode === null) >= 1, true);
}

/**
 * @param {string} language
 * @param {string} source
 * @param {unknown} input
 * @returns {Promise<{ status: number, body: any }>}
 */
async function post(language, source, input = null) {
  const response = await fetch(`${url}/${language}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ source, input }),
    signal: AbortSignal.timeout(60_000),
  });
  return { status: response.status, body: await response.json() };
}

/** Two for each language. */
async function slotsAreReady() {
  const wanted = process.env.SANDBOXED_PYTHON_IMAGE === undefined ? 2 : 4;
  for (let tries = 0; tries < 300 && (kit.sandbox.stats()?.slots.waiting ?? 0) < wanted; tries++) await delay(100);
}
