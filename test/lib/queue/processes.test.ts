import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { until } from "../../fixtures/kit.js";
import { ended, openQueue, running } from "./processes.js";

/** Starting processes takes long on a machine that is busy with other tests. */
const timeout = 90_000;

describe("two worker processes on one file", { timeout }, () => {
  test("do all that is enqueued, each piece once, and each gets some", async () => {
    const { kit, effects, startWorker } = await openQueue();
    const workers = await Promise.all([startWorker({}, 4), startWorker({}, 4)]);
    const ids: string[] = [];
    const workedFor = () => new Set(effects().map((line) => line.split(" ")[0]));
    // On a busy machine one of them may stand still for a while.
    for (let n = 0; n < 200 || (workedFor().size < 2 && n < 1_000); n++) {
      ids.push((await kit.executor.enqueue("count", { n })).id);
      if (n >= 200) await delay(20);
    }
    await until(async () => (await kit.executor.countExecutions({ status: "SUCCESS" })) === ids.length);
    const done = effects().map((line) => line.split(" "));
    expect(done.map(([, , n]) => Number(n)).sort((a, b) => a - b)).toEqual([...ids.keys()]);
    expect(workedFor()).toEqual(new Set(workers.map(({ child }) => String(child.pid))));
    const executions = await kit.executor.listExecutions({ limit: 1_000 });
    expect(executions.every(({ input, output }) => (input as { n: number }).n === output)).toBe(true);
    expect(executions.map(({ id }) => id).sort()).toEqual(ids.sort());
  });

  test("begin what another process enqueued", async () => {
    const { kit, startWorker } = await openQueue();
    await startWorker();
    const { id } = await kit.executor.enqueue("count", { n: 1 });
    expect(await ended(kit, id)).toMatchObject({ status: "SUCCESS", output: 1 });
  });
});

describe("a worker that is killed in the middle of its work", { timeout: 120_000 }, () => {
  test("leaves what may run twice to another, and what may not is INTERRUPTED and was run once", async () => {
    const { kit, effects, startWorker } = await openQueue();
    const first = await startWorker({ HANGS: "1" });
    const twice = await kit.executor.enqueue("hang-idempotent", {});
    const once = await kit.executor.enqueue("hang", {});
    await running(kit, twice.id);
    await running(kit, once.id);
    await until(() => effects().length === 2);
    await first.kill();
    await startWorker();
    expect(await ended(kit, twice.id, 60_000)).toMatchObject({ status: "SUCCESS", output: "done", attempts: 1 });
    expect(await ended(kit, once.id, 60_000)).toMatchObject({ status: "INTERRUPTED", errorCode: "SKILL_INTERRUPTED" });
    expect(effects().filter((line) => line.endsWith(`hang ${once.id}`))).toHaveLength(1);
    expect(effects().filter((line) => line.endsWith(twice.id))).toHaveLength(2);
  });

  test("leaves what it has not begun, which waits for the next", async () => {
    const { kit, effects, startWorker } = await openQueue();
    const first = await startWorker({ HANGS: "1" }, 1);
    const hanging = await kit.executor.enqueue("hang", {});
    await running(kit, hanging.id);
    const waiting = await Promise.all([1, 2, 3].map(async (n) => (await kit.executor.enqueue("count", { n })).id));
    await first.kill();
    for (const id of waiting) expect(await kit.executor.getExecution(id)).toMatchObject({ status: "QUEUED" });
    await startWorker();
    for (const id of waiting) expect(await ended(kit, id)).toMatchObject({ status: "SUCCESS" });
    expect(effects().filter((line) => line.includes("count"))).toHaveLength(3);
  });

  test("by its work is followed by four more, and then the work is given up", async () => {
    const { kit, effects, startWorker } = await openQueue();
    const { id } = await kit.executor.enqueue("deadly", {});
    for (let n = 1; n <= 5; n++) {
      const { child } = await startWorker();
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
      expect(effects()).toHaveLength(n);
    }
    await startWorker();
    expect(await ended(kit, id)).toMatchObject({ status: "INTERRUPTED" });
    expect(effects()).toHaveLength(5);
  });
});

describe("a worker that is stopped", { timeout }, () => {
  test("lets what runs finish, takes no more, and its process ends", async () => {
    const { kit, startWorker } = await openQueue();
    // Together they take far longer than the test.
    const { child } = await startWorker({ COUNT_MS: "2000" }, 1);
    const ids: string[] = [];
    for (let n = 0; n < 50; n++) ids.push((await kit.executor.enqueue("count", { n })).id);
    child.kill("SIGTERM");
    const [code] = await once(child, "exit");
    expect(code).toBe(0);
    const executions = await kit.executor.listExecutions({ limit: 1_000 });
    expect(executions.filter(({ status }) => status !== "SUCCESS" && status !== "QUEUED")).toEqual([]);
    expect(executions.some(({ status }) => status === "QUEUED")).toBe(true);
    await startWorker();
    for (const id of ids) expect(await ended(kit, id)).toMatchObject({ status: "SUCCESS" });
  });

  test("puts back what may run twice when its grace is over, and ends the rest as CANCELLED", async () => {
    const { kit, effects, startWorker } = await openQueue();
    const { child } = await startWorker({ HANGS: "1", GRACE_MS: "200" });
    const twice = await kit.executor.enqueue("hang-idempotent", {});
    const once_ = await kit.executor.enqueue("hang", {});
    await running(kit, twice.id);
    await running(kit, once_.id);
    child.kill("SIGTERM");
    await once(child, "exit");
    expect(await kit.executor.getExecution(once_.id)).toMatchObject({ status: "CANCELLED", errorCode: "SHUTTING_DOWN" });
    expect(await kit.executor.getExecution(twice.id)).toMatchObject({ status: "QUEUED", finishedAt: null });
    await startWorker();
    expect(await ended(kit, twice.id)).toMatchObject({ status: "SUCCESS", output: "done" });
    expect(effects().filter((line) => line.endsWith("ended SHUTTING_DOWN"))).toHaveLength(2);
  });
});

describe("from another process", { timeout }, () => {
  test("a version that is disabled after the work was enqueued does not run", async () => {
    const { kit, effects, startWorker } = await openQueue();
    await startWorker();
    // The worker has seen the version as enabled.
    await ended(kit, (await kit.executor.enqueue("count", { n: 1 })).id);
    const { id } = await kit.executor.enqueue("count", { n: 2 }, {}, { runAt: new Date(Date.now() + 3_000) });
    await kit.registry.setEnabled("count", "1.0.0", false);
    expect(await ended(kit, id)).toMatchObject({ status: "DENIED", errorCode: "SKILL_DISABLED", attempts: 0 });
    expect(effects().map((line) => line.split(" ").at(-1))).toEqual(["1"]);
  });

  test("work that runs is cancelled, and its handler is told", async () => {
    const { kit, effects, startWorker } = await openQueue();
    await startWorker({ HANGS: "1" });
    const { id } = await kit.executor.enqueue("hang", {});
    await running(kit, id);
    await kit.executor.cancel(id);
    expect(await ended(kit, id)).toMatchObject({ status: "CANCELLED", errorCode: "SKILL_CANCELLED" });
    expect(effects().at(-1)).toMatch(/ended SKILL_CANCELLED$/);
    await expect(kit.executor.cancel(id)).rejects.toMatchObject({ code: "EXECUTION_NOT_RUNNING" });
  });

  test("work that waits is cancelled without ever running", async () => {
    const { kit, effects, startWorker } = await openQueue();
    const { id } = await kit.executor.enqueue("count", { n: 1 }, {}, { runAt: new Date(Date.now() + 3_600_000) });
    const { id: other } = await kit.executor.enqueue("count", { n: 2 });
    await kit.executor.cancel(id);
    await kit.executor.cancel(other);
    for (const cancelled of [id, other])
      expect(await kit.executor.getExecution(cancelled)).toMatchObject({ status: "CANCELLED", attempts: 0, durationMs: null });
    await startWorker();
    const { id: last } = await kit.executor.enqueue("count", { n: 3 });
    await ended(kit, last);
    expect(effects().map((line) => line.split(" ").at(-1))).toEqual(["3"]);
  });

  test("progress and lines are seen, each once", async () => {
    const { kit, startWorker } = await openQueue();
    await startWorker({ HANGS: "1" });
    const { id } = await kit.executor.enqueue("hang", { until: "cancelled" });
    await running(kit, id);
    const trace = () => kit.executor.events.trace(id);
    await until(async () => (await kit.executor.followExecution(id)) !== undefined && trace()?.progress !== undefined);
    for (let again = 0; again < 3; again++) await kit.executor.followExecution(id);
    expect(trace()?.progress?.value).toMatchObject({ fraction: 0.25, message: "a quarter", attempt: 1 });
    expect(trace()?.lines.map(({ value }) => value)).toMatchObject([
      { kind: "log", text: "begun", fields: { until: "cancelled" } },
    ]);
    await kit.executor.cancel(id);
    await ended(kit, id);
  });

  test("the last that work said is there when its end is", async () => {
    const { kit, startWorker } = await openQueue();
    await startWorker();
    const { id } = await kit.executor.enqueue("count", { n: 1 });
    await ended(kit, id);
    await kit.executor.followExecution(id);
    expect(kit.executor.events.trace(id)?.progress?.value).toMatchObject({ fraction: 0.5, message: "half" });
  });
});
