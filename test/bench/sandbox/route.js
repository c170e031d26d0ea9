// A container skill through an Express route, request to response, against the engine's own command with the same flags, on every engine
// that answers. The server runs in a process of its own, as the engine's command does.
import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { folder, interleave, isQuick, report, row } from "../rounds.js";
import { engineEnvironment, rawRun } from "./raw-command.js";

/** @typedef {import("../rounds.js").Row} Row */

const callsPerRound = isQuick ? 4 : 6;
const rounds = isQuick ? 2 : 5;

/** @type {Row[]} */
const rows = [];
for (const engine of ["podman", "docker"]) {
  const environment = engineEnvironment(engine);
  if (environment !== null) rows.push(await measure(engine, environment));
}
report(rows);

/**
 * @param {string} engine
 * @param {NodeJS.ProcessEnv} environment
 * @returns {Promise<Row>}
 */
async function measure(engine, environment) {
  const file = fileURLToPath(new URL("server.js", import.meta.url));
  const child = fork(file, [engine, join(folder, `${engine}.db`)], {
    env: environment,
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const [port] = await once(child, "message");
  const url = `http://127.0.0.1:${port}/`;
  const raw = await rawRun(engine, environment);
  await raw(["true"]);
  /** @type {number[]} */
  const calls = [];
  for (let call = 0; call < 3; call++) await warmCall(url);
  const measured = await interleave(
    rounds,
    async () => {
      const before = calls.length;
      for (let call = 0; call < callsPerRound; call++) calls.push(await warmCall(url));
      return calls.slice(before).reduce((sum, ms) => sum + ms, 0) / callsPerRound;
    },
    async () => {
      const begun = performance.now();
      for (let call = 0; call < callsPerRound / 2; call++) await raw(["true"]);
      return (performance.now() - begun) / (callsPerRound / 2);
    },
  );
  const ended = once(child, "exit");
  child.disconnect();
  await ended;
  calls.sort((a, b) => a - b);
  const quantile = (/** @type {number} */ part) => (calls[Math.floor(part * (calls.length - 1))] ?? Number.NaN).toFixed(1);
  const made = row(`${engine}: warm skill through a route / engine's command`, measured, "ms", { kind: "at most", ratio: 0.05 });
  return { ...made, details: `${made.details}; p50 ${quantile(0.5)} ms, p95 ${quantile(0.95)} ms of ${calls.length} calls` };
}

/**
 * Waits for a slot first, and until the machine is done with the container before: what is measured is a call that finds one.
 * @param {string} url
 */
async function warmCall(url) {
  await fetch(`${url}settled`);
  const begun = performance.now();
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ text: "hello" }),
  });
  const body = await response.text();
  const took = performance.now() - begun;
  if (response.headers.get("served-from") !== "warm") throw new Error(`Not a warm answer: ${response.status} ${body}`);
  return took;
}
