// Three web processes and three workers on one PostgreSQL, under a load of mixed executions, while processes are killed at random and
// the database is restarted twice. At the end it prints the ledger, and fails when anything was lost or done twice.
//   node test/cluster/run.js [--short] [--runs N] [--seed N] [--verbose]
// What is left to chance follows from the seed; which process has what when it is killed does not.
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { makeChaos } from "./chaos.js";
import { findContainers, removeFolders } from "./containers.js";
import { openDatabase } from "./database.js";
import { findFaults, readLedger } from "./ledger.js";
import { tabulate } from "./ledger-table.js";
import { askForAll, planRuns } from "./load.js";
import { parseOptions } from "./options.js";
import { Processes } from "./processes.js";
import { createRandom } from "./random.js";

const LIMIT_MS = 280_000;
const SETTLE_MS = 75_000;
const SHOWN_FAULTS = 20;

const options = parseOptions();
const startedAt = performance.now();
const folder = realpathSync(mkdtempSync(join(tmpdir(), "express-skills-cluster-")));
/** @type {(() => unknown)[]} */
const cleanUps = [() => rmSync(folder, { recursive: true, force: true }), () => removeFolders(folder)];
/** @type {Promise<void> | undefined} */
let cleaning;

const limit = setTimeout(() => void giveUp(`not done within ${LIMIT_MS / 1000} s`), LIMIT_MS);
// Not once: `timeout` and terminals send it to the process and to its group.
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => void giveUp(signal));

try {
  const faults = await test();
  for (const fault of faults.slice(0, SHOWN_FAULTS)) console.log(`BROKEN: ${fault}`);
  if (faults.length > SHOWN_FAULTS) console.log(`BROKEN: and ${faults.length - SHOWN_FAULTS} more`);
  if (faults.length > 0) process.exitCode = 1;
  else console.log("Every accepted execution has one end; nothing was lost, done twice, or left behind.");
} finally {
  clearTimeout(limit);
  await cleanUp();
}

/** @returns {Promise<string[]>} what is broken */
async function test() {
  const { runs: count, loadMs, seed } = options;
  console.log(`${count} executions, seed ${seed}`);
  const containers = await findContainers(folder);
  const hasEngine = typeof containers !== "string";
  console.log(hasEngine ? `Containers: ${containers.engine}` : `Without containers: ${containers}`);
  if (!hasEngine && !["", "none"].includes(process.env["SKILLS_TEST_ENGINES"] ?? ""))
    return ["SKILLS_TEST_ENGINES asks for containers"];

  if (hasEngine) cleanUps.push(async () => containers.remove(await containers.list()));
  const database = await openDatabase();
  cleanUps.push(() => database.remove());
  const effects = join(folder, "effects");
  const environment = {
    SKILLS_DATABASE: database.url,
    NODE_ENV: "production",
    CLUSTER_EFFECTS: effects,
    ...(hasEngine && { CLUSTER_IMAGE: containers.image, SKILLS_SANDBOX_RUNTIME: containers.engine }),
  };
  const processes = new Processes({ folder, environment, isVerbose: options.isVerbose });
  cleanUps.push(() => processes.end());
  await processes.start();
  say("all processes run");

  const random = createRandom(seed);
  const runs = planRuns(count, random, hasEngine);
  let done = 0;
  const chaos = makeChaos({ processes, database, random: createRandom(seed + 1), progress: () => done / count, say });
  await askForAll(runs, { urls: () => processes.urls, loadMs, random: createRandom(seed + 2), onDone: () => done++ });
  const restarts = await chaos;
  say("the load is over");

  await processes.untilReady();
  await settle(database);
  say("the queue is settled");
  const faults = await processes.stop();
  if (hasEngine) faults.push(...(await containers.list()).map((name) => `the container ${name} is left`));
  faults.push(...removeFolders(folder).map((name) => `the folder ${name} is left`));
  const ledger = await readLedger(runs, database, effects);
  const { web, worker } = processes.killed;
  console.log(`\n${tabulate(ledger)}\n`);
  console.log(`SIGKILL to ${web} web processes and ${worker} workers; ${restarts} ${database.restartIs}`);
  console.log(`Ended by themselves, and started again: ${processes.endedBySelf.length}`);
  for (const { text } of processes.endedBySelf) console.log(`  ${text}`);
  if (web === 0) faults.push("no web process was killed");
  if (worker === 0) faults.push("no worker was killed");
  faults.push(...processes.endedBySelf.filter((end) => !mayEnd(end, database)).map(({ text }) => text));
  return [...faults, ...findFaults(ledger)];
}

/**
 * Whether a process may end by itself: one that starts may, while the database is away.
 *
 * @param {import("./processes.js").End} end
 * @param {import("./database.js").ClusterDatabase} database
 */
function mayEnd({ wasReady, startedAtMs, endedAtMs }, { away }) {
  return !wasReady && away.some(({ fromMs, untilMs }) => startedAtMs <= untilMs && endedAtMs >= fromMs);
}

/** Waits until nothing runs or waits any more. @param {import("./database.js").ClusterDatabase} database */
async function settle(database) {
  const untilMs = performance.now() + SETTLE_MS;
  while (performance.now() < untilMs) {
    const [row] = await database.query(
      `select (select count(*) from skill_executions where status in ('QUEUED', 'RUNNING'))::int
         + (select count(*) from queued_work)::int as count`,
    );
    if (row?.["count"] === 0) return;
    await delay(250);
  }
}

/** @param {string} text */
function say(text) {
  console.log(`${((performance.now() - startedAt) / 1000).toFixed(1).padStart(6)} s  ${text}`);
}

/** @param {string} why */
async function giveUp(why) {
  console.log(`BROKEN: ${why}`);
  await cleanUp();
  process.exit(1);
}

/** In reverse order of what was opened. */
function cleanUp() {
  cleaning ??= (async () => {
    while (cleanUps.length > 0) {
      try {
        await cleanUps.pop()?.();
      } catch (error) {
        console.log(`BROKEN: cleaning up: ${/** @type {Error} */ (error).message}`);
        process.exitCode = 1;
      }
    }
  })();
  return cleaning;
}
