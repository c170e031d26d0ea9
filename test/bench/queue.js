// Work for later on PostgreSQL, against graphile-worker alone: from the enqueueing of one piece of work to its start, and how much work two
// worker processes do in a second.
import { createSkills } from "express-skills/core";
import pg from "pg";
import { startPostgres } from "../postgres/server.js";
import { startJobs, startKit } from "./queue/starts.js";
import { openJobs, openKit, startWorkers } from "./queue/throughput.js";
import { interleave, isQuick, median, report, row } from "./rounds.js";

const starts = isQuick ? { rounds: 3, each: 30 } : { rounds: 9, each: 100 };
const throughput = isQuick ? { rounds: 2, jobs: 120 } : { rounds: 9, jobs: 500 };

const server = await startPostgres({ isDurable: true });
/** @type {(() => Promise<unknown>)[]} what to close, the last first */
const closing = [];
try {
  report([...(await measureStarts()), await measureThroughput()]);
} finally {
  while (closing.length > 0) await closing.pop()?.();
  await server.remove();
}

/**
 * One for each side: the workers of all schemas of a database listen on the same channel, and would wake each other.
 * @param {string} name
 */
async function createDatabase(name) {
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  await client.query(`create database ${name}`);
  await client.end();
  const url = server.url.replace(/\/postgres$/, `/${name}`);
  // The audit's tables.
  const kit = createSkills({ database: url, worker: false });
  await kit.ready();
  await kit.close();
  return url;
}

async function measureStarts() {
  const kit = await startKit(await createDatabase("starts_kit"));
  closing.push(kit.close);
  const jobs = await startJobs(await createDatabase("starts_jobs"));
  closing.push(jobs.close);
  const sides = { kit: /** @type {number[]} */ ([]), jobs: /** @type {number[]} */ ([]) };
  /** @type {{ p50: number, p95: number }[]} */
  const ratios = [];
  // The first round is for V8 and the caches of the database.
  for (let round = 0; round <= starts.rounds; round += 1) {
    const times = { kit: /** @type {number[]} */ ([]), jobs: /** @type {number[]} */ ([]) };
    for (let index = 0; index < starts.each; index += 1) {
      for (const side of index % 2 === 0 ? /** @type {const} */ (["kit", "jobs"]) : /** @type {const} */ (["jobs", "kit"]))
        times[side].push(await { kit, jobs }[side].measure());
    }
    if (round === 0) continue;
    ratios.push({
      p50: quantile(times.kit, 0.5) / quantile(times.jobs, 0.5),
      p95: quantile(times.kit, 0.95) / quantile(times.jobs, 0.95),
    });
    sides.kit.push(...times.kit);
    sides.jobs.push(...times.jobs);
  }
  await closing.pop()?.();
  await closing.pop()?.();
  const rowOf = (/** @type {"p50" | "p95"} */ name, /** @type {number} */ part) => {
    const measured = ratios.map((ratio) => ratio[name]);
    const figures = `${quantile(sides.kit, part).toFixed(2)} against ${quantile(sides.jobs, part).toFixed(2)} ms`;
    return {
      what: `enqueue to start, ${name} / graphile-worker alone`,
      ratios: measured,
      median: median(measured),
      details: `${figures}; one at a time, ${starts.each} of each side in turn per round; audited, against jobs without any audit`,
      bar: /** @type {const} */ ({ kind: "at most", ratio: 1.5 }),
    };
  };
  return [rowOf("p50", 0.5), rowOf("p95", 0.95)];
}

async function measureThroughput() {
  const sides = [];
  for (const open of [openKit, openJobs]) {
    const side = await open(await createDatabase(open === openKit ? "done_kit" : "done_jobs"));
    closing.push(side.close);
    const workers = await startWorkers(side.kind, side.url);
    closing.push(workers.end);
    sides.push({ side, workers });
  }
  const [kit, jobs] = sides.map(({ side, workers }) => async () => {
    await side.enqueue(throughput.jobs);
    const startedAt = performance.now();
    await workers.start();
    await side.untilDone();
    const perSecond = throughput.jobs / ((performance.now() - startedAt) / 1000);
    await workers.stop();
    await side.clear(throughput.jobs);
    return perSecond;
  });
  if (kit === undefined || jobs === undefined) throw new Error("There are two sides");
  await kit();
  await jobs();
  const measured = await interleave(throughput.rounds, kit, jobs);
  const made = row("jobs per second of two workers / graphile-worker alone with as many writes", measured, "jobs/s");
  return { ...made, details: `${made.details}; ${throughput.jobs} enqueued ahead, ten at once in each of two processes` };
}

/**
 * @param {readonly number[]} values
 * @param {number} part
 */
function quantile(values, part) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(part * (sorted.length - 1))] ?? Number.NaN;
}
