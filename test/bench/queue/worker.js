// A worker process: argv has what it works on, `kit` or `jobs`, and the database. It says when it is ready, and when it did what it is told.
import { createSkills } from "express-skills/core";
import { makeWorkerUtils, runTaskList } from "graphile-worker";
import { jobSettings, openPool, quiet, schema, work } from "./settings.js";

const [, , kind, url = ""] = process.argv;
const startWork = kind === "kit" ? await openKit() : await openJobs();
/** @type {(() => unknown) | undefined} */
let stopWork;
process.on("message", async (message) => {
  if (message === "start") stopWork = startWork();
  else await stopWork?.();
  process.send?.("done");
});
process.once("disconnect", () => process.exit());
process.send?.("ready");

async function openKit() {
  const kit = createSkills({ database: url, worker: false, logger: quiet });
  kit.define({ name: "measure", schema, handler: work });
  await kit.ready();
  return () => {
    const worker = kit.startWorker({ concurrency: jobSettings.concurrency });
    return () => worker.stop();
  };
}

async function openJobs() {
  const pool = openPool(url);
  const utils = await makeWorkerUtils({ pgPool: pool, logger: jobSettings.logger });
  await utils.release();
  const task = async (/** @type {any} */ { id, input }) => {
    await pool.query({
      name: "begin",
      text: "update skill_executions set status = 'RUNNING', instance_id = $1 where id = $2 and status = 'QUEUED'",
      values: [String(process.pid), id],
    });
    const startedAt = Date.now();
    const output = work(input);
    const endedAt = Date.now();
    await pool.query({
      name: "end",
      text: `update skill_executions set status = 'SUCCESS', output = $1, output_state = 'whole', attempts = 1, duration_ms = $2,
        finished_at = $3 where id = $4`,
      values: [JSON.stringify(output), endedAt - startedAt, new Date(endedAt).toISOString(), id],
    });
  };
  return () => {
    const workers = runTaskList({ ...jobSettings, pgPool: pool }, { measure: task }, pool);
    return () => workers.gracefulShutdown();
  };
}
