import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { DEAD_AFTER_MS, SWEEP_MS } from "../../../lib/executor/instances.js";
import { UPKEEP_MS } from "../../../lib/queue/job-upkeep.js";
import { connectBeside } from "../../fixtures/database.js";
import { openTestKit, until } from "../../fixtures/kit.js";
import { ended, openQueue, running } from "./processes.js";

test("it takes at most a minute until a worker on another machine is known to be gone and its jobs are free", () => {
  // The death follows a heartbeat, the sweep that finds it comes as late as it can, and so does the upkeep that follows.
  expect(DEAD_AFTER_MS + SWEEP_MS + UPKEEP_MS).toBeLessThanOrEqual(60_000);
});

test("the work of a worker on another machine that is gone or stands still is taken by another, or is INTERRUPTED, once its heartbeat is old", {
  timeout: 120_000,
}, async () => {
  const { kit, database, effects, startWorker } = await openQueue();
  const client = await connectBeside(database);
  const enqueuePair = async () => {
    const twice = await kit.executor.enqueue("hang-idempotent", {});
    const once_ = await kit.executor.enqueue("hang", {});
    await running(kit, twice.id);
    await running(kit, once_.id);
    return { twice, once: once_ };
  };
  // Two places each, which their own pair takes.
  const killed = await startWorker({ HANGS: "1" }, 2);
  const ofKilled = await enqueuePair();
  const suspended = await startWorker({ HANGS: "1" }, 2);
  const ofSuspended = await enqueuePair();
  await until(() => effects().length === 4);
  // From here on nobody can look whether their processes live: only their heartbeats tell.
  suspended.child.kill("SIGSTOP");
  await killed.kill();
  const setHeartbeats = async (ageMs: number) => {
    const { rowCount } = await client.query("update instances set host = 'elsewhere', heartbeat_at = $2 where pid = any($1)", [
      [killed.child.pid, suspended.child.pid],
      new Date(Date.now() - ageMs).toISOString(),
    ]);
    expect(rowCount).toBe(2);
  };
  const executions = [ofKilled, ofSuspended].flatMap((pair) => [pair.twice.id, pair.once.id]);
  // A kit looks for dead instances when it opens.
  await setHeartbeats(0);
  await openTestKit({ database, worker: false }).ready();
  for (const id of executions) expect(await kit.executor.getExecution(id)).toMatchObject({ status: "RUNNING" });
  await setHeartbeats(DEAD_AFTER_MS + 1_000);
  await startWorker();
  for (const pair of [ofKilled, ofSuspended]) {
    expect(await ended(kit, pair.twice.id, 90_000)).toMatchObject({ status: "SUCCESS", output: "done" });
    expect(await ended(kit, pair.once.id, 90_000)).toMatchObject({ status: "INTERRUPTED", errorCode: "SKILL_INTERRUPTED" });
  }

  // It comes back, ends what it ran when it stops, and changes nothing of what others did.
  suspended.child.kill("SIGCONT");
  await delay(2_000);
  suspended.child.kill("SIGTERM");
  if (suspended.child.exitCode === null) await once(suspended.child, "exit");
  expect(await kit.executor.getExecution(ofSuspended.twice.id)).toMatchObject({ status: "SUCCESS", output: "done" });
  for (const { once: one } of [ofKilled, ofSuspended])
    expect(effects().filter((line) => line.endsWith(`hang ${one.id}`))).toHaveLength(1);
  for (const { twice } of [ofKilled, ofSuspended])
    expect(effects().filter((line) => line.endsWith(`hang-idempotent ${twice.id}`))).toHaveLength(2);
  const count = async (table: string) => Number((await client.query(`select count(*) from ${table}`)).rows[0].count);
  await until(async () => (await count("queued_work")) === 0 && (await count("job_pools")) === 1);
});
