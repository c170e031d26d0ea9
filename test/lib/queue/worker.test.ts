import { describe, expect, onTestFinished, test } from "vitest";
import { openStore } from "../../../lib/store/open.js";
import { all, db, run } from "../../../lib/store/query.js";
import { gate, openWorkingKit, temporaryFolder, until } from "../../fixtures/kit.js";
import { ended } from "./processes.js";

const object = { type: "object" } as const;
const moments = () => new Promise((resolve) => setTimeout(resolve, 600));

describe("a worker", () => {
  test("takes only what its process has a handler for, also one that is registered later", async () => {
    const kit = openWorkingKit();
    await kit.registry.register({ name: "elsewhere", schema: object, handler: "named" });
    kit.define({ name: "here", schema: object, handler: () => "here" });
    const elsewhere = await kit.executor.enqueue("elsewhere", {});
    const here = await kit.executor.enqueue("here", {});
    expect(await ended(kit, here.id)).toMatchObject({ status: "SUCCESS" });
    await moments();
    expect(await kit.executor.getExecution(elsewhere.id)).toMatchObject({ status: "QUEUED" });
    kit.executor.registerHandler("named", () => "named");
    expect(await ended(kit, elsewhere.id)).toMatchObject({ status: "SUCCESS", output: "named" });
  });

  test("finds what it can do behind much that it cannot", async () => {
    const kit = openWorkingKit({ worker: { concurrency: 2 } });
    for (let n = 0; n < 20; n++) {
      await kit.registry.register({ name: `elsewhere-${n}`, schema: object, handler: "named" });
      for (let more = 0; more < 5; more++) await kit.executor.enqueue(`elsewhere-${n}`, {});
    }
    kit.define({ name: "here", schema: object, handler: () => "here" });
    const { id } = await kit.executor.enqueue("here", {}, {}, { priority: 10 });
    expect(await ended(kit, id)).toMatchObject({ status: "SUCCESS" });
  });

  test("that could not take ended work out of the queue does not leave it there", async () => {
    const kit = openWorkingKit({ worker: false });
    kit.define({ name: "here", schema: object, handler: () => "here" });
    const { id } = await kit.executor.enqueue("here", {});
    const store = await openStore({ database: kit.file, durability: "process" });
    onTestFinished(async () => store.close());
    const work = async () => store.read(all(db.selectFrom("queued_work").select("id")));
    // As it is when the database goes away between the end of work and that: the instance that has it lives on.
    await store.write(function* () {
      const [instance] = yield* all(db.selectFrom("instances").select("id"));
      const instance_id = instance?.id ?? null;
      yield* run(db.updateTable("queued_work").set({ state: "TAKEN", instance_id, takes: 1 }));
      yield* run(db.updateTable("skill_executions").set({ status: "SUCCESS", finished_at: new Date().toISOString() }));
    });
    expect(await work()).toEqual([{ id }]);
    await until(async () => (await work()).length === 0);
  });

  test("takes no container skill where no engine answers", async () => {
    const kit = openWorkingKit({ sandbox: { runtime: "docker", owner: "x" } });
    const { PATH } = process.env;
    process.env["PATH"] = temporaryFolder();
    onTestFinished(() => {
      process.env["PATH"] = PATH;
    });
    const container = { image: "alpine", command: ["true"] };
    await kit.registry.register({ name: "contained", schema: object, container });
    kit.define({ name: "here", schema: object, handler: () => "here" });
    const { id } = await kit.executor.enqueue("contained", {});
    const here = await kit.executor.enqueue("here", {});
    expect(await ended(kit, here.id)).toMatchObject({ status: "SUCCESS" });
    await moments();
    expect(await kit.executor.getExecution(id)).toMatchObject({ status: "QUEUED" });
  });

  test("is none where the option worker is false, until one is started; its bounds are checked", async () => {
    const kit = openWorkingKit({ worker: false });
    kit.define({ name: "any", schema: object, handler: () => 1 });
    const { id } = await kit.executor.enqueue("any", {});
    await moments();
    expect(await kit.executor.getExecution(id)).toMatchObject({ status: "QUEUED" });
    for (const options of [{ concurrency: 0 }, { concurrency: 1.5 }, { concurrency: 1_001 }, { concurency: 1 }, null])
      expect(() => kit.startWorker(options as never)).toThrow(expect.objectContaining({ code: "INVALID_OPTION" }));
    const worker = kit.startWorker({ concurrency: 1 });
    expect(await ended(kit, id)).toMatchObject({ status: "SUCCESS" });
    await worker.stop();
    await worker.stop();
    const after = await kit.executor.enqueue("any", {});
    await moments();
    expect(await kit.executor.getExecution(after.id)).toMatchObject({ status: "QUEUED" });
  });

  test("ends with its kit, which waits for what it runs", async () => {
    const kit = openWorkingKit();
    const open = gate();
    kit.define({ name: "slow", schema: object, handler: () => open.promise.then(() => "done") });
    const { id } = await kit.executor.enqueue("slow", {});
    await until(async () => (await kit.executor.getExecution(id))?.status === "RUNNING");
    const closing = kit.close();
    open.open();
    await closing;
    const next = openWorkingKit({ database: kit.file });
    expect(await next.executor.getExecution(id)).toMatchObject({ status: "SUCCESS", output: "done" });
  });

  test("takes up after a restart what waited", async () => {
    const first = openWorkingKit({ worker: false });
    const define = (kit: typeof first) => kit.define({ name: "any", schema: object, handler: () => "second" });
    define(first);
    const { id } = await first.executor.enqueue("any", {});
    await first.close();
    const second = openWorkingKit({ database: first.file });
    define(second);
    await second.ready();
    expect(await ended(second, id)).toMatchObject({ status: "SUCCESS", output: "second" });
  });
});

describe("work whose skill is", () => {
  async function waiting() {
    const kit = openWorkingKit({ worker: false });
    let calls = 0;
    kit.define({ name: "any", schema: object, handler: () => ++calls });
    const { id } = await kit.executor.enqueue("any", {});
    return { kit, id, calls: () => calls };
  }

  test("disabled before its turn ends as DENIED", async () => {
    const { kit, id, calls } = await waiting();
    await kit.registry.setEnabled("any", "1.0.0", false);
    kit.startWorker();
    expect(await ended(kit, id)).toMatchObject({ status: "DENIED", errorCode: "SKILL_DISABLED", attempts: 0 });
    expect(calls()).toBe(0);
  });

  test("switched off before its turn ends as DENIED", async () => {
    const { kit, id, calls } = await waiting();
    await kit.registry.setMode("any", "1.0.0", "off");
    kit.startWorker();
    expect(await ended(kit, id)).toMatchObject({ status: "DENIED", errorCode: "SKILL_OFF" });
    expect(calls()).toBe(0);
  });

  test("switched off while it waits for a place ends as DENIED, and goes back into the queue when all skills are", async () => {
    const kit = openWorkingKit();
    const open = gate();
    for (const name of ["narrow", "narrow-too"])
      kit.define({ name, schema: object, concurrency: { limit: 1, queue: 5 }, handler: () => open.promise });
    const enqueue = async (name: string) => (await kit.executor.enqueue(name, {})).id;
    const isRunning = async (id: string) => (await kit.executor.getExecution(id))?.status === "RUNNING";
    const first = [await enqueue("narrow"), await enqueue("narrow-too")];
    for (const id of first) await until(() => isRunning(id));
    const [denied, later] = [await enqueue("narrow"), await enqueue("narrow-too")];
    // Taken by the worker: what waits for a place is RUNNING in the database.
    for (const id of [denied, later]) await until(() => isRunning(id));
    await kit.registry.setEnabled("narrow", "1.0.0", false);
    await kit.registry.setSkillsEnabled(false);
    open.open();
    for (const id of first) expect(await ended(kit, id)).toMatchObject({ status: "SUCCESS" });
    expect(await ended(kit, denied)).toMatchObject({ status: "DENIED", errorCode: "SKILL_DISABLED", attempts: 0 });
    await until(async () => (await kit.executor.getExecution(later))?.status === "QUEUED");
  });

  test("replaced by one that takes other input ends as DENIED when it does not match", async () => {
    const { kit, id } = await waiting();
    const schema = { type: "object", required: ["n"] } as const;
    await kit.registry.register({ name: "any", schema, handler: "any@1.0.0" }, { replace: true });
    kit.startWorker();
    expect(await ended(kit, id)).toMatchObject({ status: "DENIED", errorCode: "INVALID_INPUT" });
  });

  test("kept from running with all others, by the master switch, waits until it is on again", async () => {
    const { kit, id } = await waiting();
    await kit.registry.setSkillsEnabled(false);
    kit.startWorker();
    await moments();
    expect(await kit.executor.getExecution(id)).toMatchObject({ status: "QUEUED" });
    await kit.registry.setSkillsEnabled(true);
    expect(await ended(kit, id)).toMatchObject({ status: "SUCCESS" });
  });

  test("unregistered by force does not run the version of system that has its name", async () => {
    const kit = openWorkingKit({ worker: false });
    let calls = 0;
    kit.define({ name: "any", schema: object, handler: () => ++calls });
    kit.define({ name: "any", schema: object, apiKeyId: "k1", handler: () => "own" });
    const { id } = await kit.executor.enqueue("any", {}, { apiKeyId: "k1" });
    await kit.registry.unregister("any", "1.0.0", "k1", { force: true });
    kit.startWorker();
    expect(await ended(kit, id)).toMatchObject({ status: "DENIED", errorCode: "SKILL_NOT_FOUND", apiKeyId: "k1" });
    expect(calls).toBe(0);
  });

  test("in use can be unregistered only by force, and then ends as DENIED", async () => {
    const { kit, id, calls } = await waiting();
    await expect(kit.registry.unregister("any", "1.0.0")).rejects.toMatchObject({ code: "SKILL_IN_USE", status: 409 });
    await expect(kit.registry.unregister("any")).rejects.toMatchObject({ code: "SKILL_IN_USE" });
    expect(await kit.registry.getSkill("any@1.0.0")).toMatchObject({ name: "any" });
    expect(await kit.registry.unregister("any", "1.0.0", "system", { force: true })).toBe(1);
    kit.startWorker();
    expect(await ended(kit, id)).toMatchObject({ status: "DENIED", errorCode: "SKILL_NOT_FOUND" });
    expect(calls()).toBe(0);
  });

  test("in use no more can be unregistered", async () => {
    const { kit, id } = await waiting();
    await kit.executor.cancel(id);
    expect(await kit.registry.unregister("any")).toBe(1);
  });
});

describe("cancelling", () => {
  test("ends work that waits, tells those who watch it, and leaves nothing in the queue", async () => {
    const kit = openWorkingKit({ worker: false });
    kit.define({ name: "any", schema: object, handler: () => 1 });
    const { id } = await kit.executor.enqueue("any", {});
    const seen: string[] = [];
    kit.executor.events.watchAll({ onStatus: ({ value }) => seen.push(value.status), onClose: () => {} });
    await kit.executor.cancel(id);
    expect(await kit.executor.getExecution(id)).toMatchObject({ status: "CANCELLED", errorCode: "SKILL_CANCELLED" });
    expect(seen).toEqual(["CANCELLED"]);
    await expect(kit.executor.cancel(id)).rejects.toMatchObject({ code: "EXECUTION_NOT_RUNNING" });
    const store = await openStore({ database: kit.file, durability: "process" });
    expect(await store.read(all(db.selectFrom("queued_work").selectAll()))).toEqual([]);
    await store.close();
  });

  test("ends a plain call that another kit on the file runs", async () => {
    const kit = openWorkingKit();
    kit.define({
      name: "endless",
      schema: object,
      handler: (_, { signal }) =>
        new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
    });
    const call = kit.executor.execute("endless", {});
    await until(async () => (await kit.executor.countExecutions({ status: "RUNNING" })) === 1);
    const other = openWorkingKit({ database: kit.file });
    const [execution] = await other.executor.listExecutions();
    await other.executor.cancel(execution?.id ?? "");
    expect(await call).toMatchObject({ status: "CANCELLED", errorCode: "SKILL_CANCELLED" });
  });
});

test("what work reports to watchers is QUEUED, RUNNING and its end", async () => {
  const kit = openWorkingKit();
  kit.define({ name: "any", schema: object, handler: () => 1 });
  const seen: string[] = [];
  kit.executor.events.watchAll({ onStatus: ({ value }) => seen.push(value.status), onClose: () => {} });
  const { id } = await kit.executor.enqueue("any", {});
  await ended(kit, id);
  await until(() => seen.length === 3);
  expect(seen).toEqual(["QUEUED", "RUNNING", "SUCCESS"]);
});
