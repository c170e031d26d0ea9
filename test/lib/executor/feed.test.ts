import { describe, expect, test } from "vitest";
import { gate, openTestKit, openWorkingKit, type TestKit, until } from "../../fixtures/kit.js";
import { aLook, follow } from "./follow.js";

const anything = { type: "object" } as const;

function defineHeld(kit: TestKit, name = "held") {
  const held = gate();
  kit.define({ name, schema: anything, handler: () => held.promise.then(() => ({ done: true })) });
  return held;
}

describe("whoever follows all executions", () => {
  test("is told how calls of another kit begin and end, each once, and without their data", async () => {
    const here = openTestKit();
    const there = openTestKit({ database: here.file });
    const held = defineHeld(there);
    there.define({ name: "quick", schema: anything, handler: () => 1 });
    await there.executor.execute("quick", {});
    const { told, statusesOf, numbers, missed } = await follow(here);
    const { id, ended } = await there.executor.start("held", {}, { apiKeyId: "somebody" });
    const quick = await there.executor.execute("quick", { secret: "of the input" });
    const refused = await there.executor.execute("nothing", {}).catch((error: { executionId: string }) => error.executionId);
    await until(() => statusesOf(id).length === 1 && statusesOf(quick.id).length === 1);
    held.open();
    await ended;
    await until(() => statusesOf(id).length === 2);
    await aLook();
    expect(statusesOf(id)).toEqual(["RUNNING", "SUCCESS"]);
    expect(statusesOf(quick.id)).toEqual(["SUCCESS"]);
    expect(statusesOf(String(refused))).toEqual(["DENIED"]);
    expect(told).toHaveLength(4);
    expect(told.find((execution) => execution.id === id)).toMatchObject({ apiKeyId: "somebody", skillName: "held" });
    expect(JSON.stringify(told)).not.toContain("of the input");
    expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b));
    expect(missed).toEqual([]);
  });

  test("is told of the calls of its own kit once, also when they are in the database", async () => {
    const kit = openTestKit();
    const held = defineHeld(kit);
    const { statusesOf, told } = await follow(kit);
    const { id, ended } = await kit.executor.start("held", {});
    expect(statusesOf(id)).toEqual(["RUNNING"]);
    await aLook();
    held.open();
    await ended;
    await aLook();
    expect(told.map(({ status }) => status)).toEqual(["RUNNING", "SUCCESS"]);
  });

  test("is told of work for later at each step, whoever enqueues, does or cancels it", async () => {
    const here = openTestKit({ worker: false });
    const web = openTestKit({ database: here.file, worker: false });
    await web.registry.register({ name: "held", schema: anything, handler: "held" });
    const { statusesOf } = await follow(here);
    const done = await web.executor.enqueue("held", {});
    const cancelled = await here.executor.enqueue("held", {}, {}, { runAt: new Date(Date.now() + 3_600_000) });
    await until(() => statusesOf(done.id).length === 1);
    await web.executor.cancel(cancelled.id);
    const worker = openWorkingKit({ database: here.file });
    const held = gate();
    worker.executor.registerHandler("held", () => held.promise.then(() => ({ done: true })));
    await worker.ready();
    await until(() => statusesOf(done.id).length === 2);
    held.open();
    await until(() => statusesOf(done.id).length === 3 && statusesOf(cancelled.id).length === 2);
    expect(statusesOf(done.id)).toEqual(["QUEUED", "RUNNING", "SUCCESS"]);
    expect(statusesOf(cancelled.id)).toEqual(["QUEUED", "CANCELLED"]);
  });

  test("is told of work for later that another process puts back", async () => {
    const here = openTestKit({ worker: false });
    await here.registry.register({ name: "twice", schema: anything, handler: "twice", idempotent: true });
    const { statusesOf } = await follow(here);
    const worker = openWorkingKit({ database: here.file });
    worker.executor.registerHandler("twice", () => new Promise(() => {}));
    const { id } = await here.executor.enqueue("twice", {});
    await worker.ready();
    await until(() => statusesOf(id).includes("RUNNING"));
    await worker.close({ graceMs: 0 });
    await until(() => statusesOf(id).length === 3);
    expect(statusesOf(id)).toEqual(["QUEUED", "RUNNING", "QUEUED"]);
  });

  test("is told how many changes are left out when there are too many", async () => {
    const here = openTestKit();
    const there = openTestKit({ database: here.file });
    there.define({ name: "quick", schema: anything, handler: () => 1 });
    const { told, missed } = await follow(here);
    await Promise.all(Array.from({ length: 400 }, () => there.executor.execute("quick", {})));
    await until(() => told.length + missed.reduce((sum, changes) => sum + changes, 0) >= 400);
    await aLook();
    expect(new Set(told.map(({ id }) => id)).size).toBe(told.length);
    const { id } = await there.executor.execute("quick", {});
    await until(() => told.some((execution) => execution.id === id));
  });

  test("shares one look at the database with others, and none is made when all have left", async () => {
    const here = openTestKit();
    const there = openTestKit({ database: here.file });
    there.define({ name: "quick", schema: anything, handler: () => 1 });
    const [first, second] = await Promise.all([follow(here), follow(here)]);
    await there.executor.execute("quick", {});
    await until(() => first.told.length === 1);
    expect(second.told).toEqual(first.told);
    first.stop();
    await there.executor.execute("quick", {});
    await until(() => second.told.length === 2);
    second.stop();
    await there.executor.execute("quick", {});
    await aLook();
    expect([first.told.length, second.told.length]).toEqual([1, 2]);
    const again = await follow(here);
    await there.executor.execute("quick", {});
    await until(() => again.told.length === 1);
    expect(here.executor.events.isWatched).toBe(true);
    again.stop();
    expect(here.executor.events.isWatched).toBe(false);
  });
});

test("a watcher that lacks a function is refused at once, and does not end the process later", async () => {
  const kit = openTestKit();
  for (const watcher of [undefined, {}, { onStatus() {}, onMissed() {} }, { onStatus() {}, onMissed: 1, onClose() {} }])
    await expect(kit.executor.followExecutions(watcher as never)).rejects.toMatchObject({ code: "INVALID_OPTION" });
});
