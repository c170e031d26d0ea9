// A route with one step, its input validated and its call audited, against the same bare Express route.
import { execFile, fork } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { folder, interleave, isQuick, report, row } from "./rounds.js";

const autocannon = createRequire(import.meta.url).resolve("autocannon");
const body = JSON.stringify({ text: "The quick brown fox jumps over the lazy dog." });
const seconds = isQuick ? 2 : 5;

const step = await startServer("step");
const bare = await startServer("bare");
try {
  // Until both are compiled by V8.
  await requestsPerSecond(step.url, 2);
  await requestsPerSecond(bare.url, 2);
  const measured = await interleave(
    isQuick ? 3 : 9,
    () => requestsPerSecond(step.url, seconds),
    () => requestsPerSecond(bare.url, seconds),
  );
  report([row("route with one audited step / bare route", measured, "requests/s", { kind: "at least", ratio: 0.75 })]);
} finally {
  step.child.disconnect();
  bare.child.disconnect();
}

/** @param {"step" | "bare"} kind */
async function startServer(kind) {
  const file = fileURLToPath(new URL("server.js", import.meta.url));
  const child = fork(file, [kind, join(folder, "route.db")], { stdio: ["ignore", "inherit", "inherit", "ipc"] });
  const [port] = await once(child, "message");
  return { child, url: `http://127.0.0.1:${port}/` };
}

/**
 * @param {string} url
 * @param {number} duration in seconds
 */
async function requestsPerSecond(url, duration) {
  const options = ["--json", "--connections", "32", "--duration", String(duration), "--method", "POST"];
  const content = ["--headers", "content-type=application/json", "--body", body];
  const { stdout } = await promisify(execFile)(process.execPath, [autocannon, ...options, ...content, url]);
  const result = JSON.parse(stdout);
  if (result.errors + result.timeouts + result.non2xx > 0) throw new Error(`Requests failed: ${stdout}`);
  return result.requests.average;
}
