import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { connectBeside } from "../../fixtures/database.js";
import { until } from "../../fixtures/kit.js";
import { ended, openQueue, running } from "./processes.js";

test("the work of a worker on another machine that is gone or stands still is taken by another within a minute, or is INTERRUPTED", {
  timeout: 150_000,
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
  // From here on no process can look whether they live: only their heartbeats tell.
  const { rowCount } = await client.query("update instances set host = 'elsewhere' where pid = any($1)", [
    [killed.child.pid, suspended.child.pid],
  ]);
  expect(rowCount).toBe(2);
  suspended.child.kill("SIGSTOP");
  await killed.kill();
  const startedAtMs = performance.now();
  await startWorker();
  for (const pair of [ofKilled, ofSuspended]) {
    expect(await ended(kit, pair.twice.id, 70_000)).toMatchObject({ status: "SUCCESS", output: "done" });
    expect(await ended(kit, pair.once.id, 70_000)).toMatchObject({ status: "INTERRUPTED", errorCode: "SKILL_INTERRUPTED" });
  }
  expect(performance.now() - startedAtMs).toBeLessThan(60_000);

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
  const { rows } = await client.query(
    "select (select count(*) from queued_work) as works, (select count(*) from job_pools) as pools",
  );
  expect(rows[0]).toEqual({ works: "0", pools: "1" });
});
