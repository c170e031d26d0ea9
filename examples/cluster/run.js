// Starts it all on one machine: PostgreSQL, two web processes and two workers, until Ctrl-C. In earnest each has a machine of its own, and
// a supervisor that starts it again.
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { openDatabase } from "./database.js";

/** As the command line's own: the database cannot be used. */
const UNAVAILABLE = 3;
const firstPort = Number(process.env.PORT ?? 3000);
const key = randomBytes(24).toString("base64url");
const web = fileURLToPath(new URL("web.js", import.meta.url));
const skills = fileURLToPath(new URL("skills.js", import.meta.url));
const commandLine = fileURLToPath(new URL("../../dist/lib/cli/bin.js", import.meta.url));

/** @type {import("node:child_process").ChildProcess[]} */
const children = [];
let isStopping = false;
const stopped = Promise.race([once(process, "SIGINT"), once(process, "SIGTERM")]).then(() => (isStopping = true));

const database = await openDatabase().catch((/** @type {Error} */ error) => error);
if (database instanceof Error) {
  console.error(database.message);
  process.exit(UNAVAILABLE);
}
try {
  const [first, second] = [await startWeb(0), await startWeb(1)];
  const workers = [startWorker(), startWorker()];
  console.log(`Two web processes listen on ${first} and ${second}; the workers are processes ${workers.join(" and ")}.

Ask one of them for reports, which the workers make:
  curl -i ${first}/reports -H 'Content-Type: application/json' -d '{"month":5}'
  for month in 1 2 3 4 5 6 7 8; do curl -s ${first}/reports -H 'Content-Type: application/json' -d '{"month":'$month',"seconds":20}'; done
Ask the other one what became of them, with the "pid" of the worker in the output:
  curl ${second}/api/executions -H 'Authorization: Bearer ${key}'
Watch them in the dashboard of either, with the key in the address:
  ${second}/ops/#token=${key}
Kill a worker in the middle, and see the other one take over what it did:
  kill -9 ${workers[0]}
Ctrl-C stops it all.`);
  await stopped;
} finally {
  isStopping = true;
  await Promise.all(children.map(stop));
  await database.remove();
}

/** @param {number} index */
async function startWeb(index) {
  const port = firstPort === 0 ? 0 : firstPort + index;
  const child = start([web], { PORT: String(port) });
  const [line] = await Promise.race([once(child.stdout.setEncoding("utf8"), "data"), once(child, "exit")]);
  if (typeof line !== "string") throw new Error("A web process ended before it listened");
  return line.trim();
}

function startWorker() {
  return start([commandLine, "worker", "--require", skills], {}).pid;
}

/**
 * In a process group of its own, so that Ctrl-C reaches this process only, which stops the others in order.
 *
 * @param {readonly string[]} words
 * @param {NodeJS.ProcessEnv} environment
 */
function start(words, environment) {
  const child = spawn(process.execPath, words, {
    detached: true,
    env: { ...process.env, ...environment, SKILLS_DATABASE: /** @type {{ url: string }} */ (database).url, CLUSTER_KEY: key },
    stdio: ["ignore", "pipe", "inherit"],
  });
  child.once("exit", (code, signal) => {
    if (!isStopping) console.log(`Process ${child.pid} ended with ${signal ?? code}`);
  });
  children.push(child);
  return child;
}

/** @param {import("node:child_process").ChildProcess} child */
async function stop(child) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  await ended;
}
