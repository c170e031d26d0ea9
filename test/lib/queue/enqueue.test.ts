import { sql } from "kysely";
import { describe, expect, test } from "vitest";
import type { SkillsKit } from "../../../lib/index.js";
import { openStore } from "../../../lib/store/open.js";
import { all, db } from "../../../lib/store/query.js";
import { gate, openWorkingKit, until } from "../../fixtures/kit.js";

const object = { type: "object" } as const;

/** What waits or runs, as the database has it. */
async function queuedRows(file: string) {
  const store = await openStore({ database: file, durability: "process" });
  try {
    return await store.read(all(db.selectFrom("queued_work").selectAll()));
  } finally {
    await store.close();
  }
}

/** What graphile-worker still has, on PostgreSQL. */
async function countJobs(file: string): Promise<number> {
  const store = await openStore({ database: file, durability: "process" });
  try {
    if (store.jobs === undefined) return 0;
    const jobs = sql<{ id: string }>`${sql.id(store.jobs.schema, "_private_jobs")}`.as("jobs");
    return (await store.read(all(db.selectFrom(jobs).select("id")))).length;
  } finally {
    await store.close();
  }
}

async function ended(kit: SkillsKit, id: string) {
  await until(async () => (await kit.executor.getExecution(id))?.finishedAt != null);
  return kit.executor.getExecution(id);
}

describe("work that is enqueued", () => {
  test("is QUEUED, runs once the moment comes, and leaves nothing in the queue", async () => {
    const kit = openWorkingKit();
    const seen: unknown[] = [];
    const double = kit.define({
      name: "double",
      schema: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
      handler: ({ n }, context) => {
        seen.push([context.executionId, context.apiKeyId, context.sessionId, context.requestId, context.attempt]);
        return n * 2;
      },
    });
    const queued = await kit.executor.enqueue(double, { n: 4 }, { apiKeyId: "k1", sessionId: "s1", requestId: "r1" });
    expect(queued).toMatchObject({
      status: "QUEUED",
      skillName: "double",
      skillVersion: "1.0.0",
      apiKeyId: "k1",
      sessionId: "s1",
      requestId: "r1",
      parentId: null,
      rootId: queued.id,
      input: { n: 4 },
      output: null,
      finishedAt: null,
    });
    expect(await ended(kit, queued.id)).toMatchObject({
      id: queued.id,
      status: "SUCCESS",
      output: 8,
      attempts: 1,
      createdAt: queued.createdAt,
      input: { n: 4 },
      durationMs: expect.any(Number),
    });
    expect(seen).toEqual([[queued.id, "k1", "s1", "r1", 1]]);
    await until(async () => (await queuedRows(kit.file)).length === 0);
    expect(await kit.executor.countExecutions()).toBe(1);
  });

  test("runs the version that was the newest when it was enqueued", async () => {
    const kit = openWorkingKit({ worker: false });
    const define = (version: string) => kit.define({ name: "versioned", version, schema: object, handler: () => version });
    define("1.0.0");
    define("1.1.0");
    const queued = await kit.executor.enqueue("versioned@^1", {});
    expect(queued.skillVersion).toBe("1.1.0");
    define("1.2.0");
    await kit.ready();
    kit.startWorker();
    expect(await ended(kit, queued.id)).toMatchObject({ output: "1.1.0", skillVersion: "1.1.0" });
  });

  test("runs system's version although its caller has got versions of its own since", async () => {
    const kit = openWorkingKit({ worker: false });
    kit.define({ name: "shadowed", schema: object, handler: () => "system's" });
    const queued = await kit.executor.enqueue("shadowed", {}, { apiKeyId: "k1" });
    kit.define({ name: "shadowed", version: "2.0.0", apiKeyId: "k1", schema: object, handler: () => "k1's" });
    await kit.ready();
    kit.startWorker();
    expect(await ended(kit, queued.id)).toMatchObject({ status: "SUCCESS", output: "system's", apiKeyId: "k1" });
  });

  test("is stored whole, while its row is redacted and cut, and that copy goes when it has ended", async () => {
    const kit = openWorkingKit({ worker: false, audit: { maxBytes: 256 } });
    const inputs: unknown[] = [];
    kit.define({
      name: "secretive",
      schema: object,
      handler: (input) => {
        inputs.push(input);
        return {};
      },
    });
    const input = { password: "hunter2", text: "x".repeat(10_000) };
    const queued = await kit.executor.enqueue("secretive", input);
    expect(queued.input).toEqual(input);
    expect(JSON.stringify(await kit.executor.getExecution(queued.id))).not.toContain("hunter2");
    expect(JSON.parse((await queuedRows(kit.file))[0]?.input ?? "")).toEqual(input);
    kit.startWorker();
    await ended(kit, queued.id);
    expect(inputs).toEqual([input]);
    await until(async () => (await queuedRows(kit.file)).length === 0);
  });

  test("counts its time limit from the start of the run, by the call's limit and the skill's", async () => {
    const kit = openWorkingKit({ worker: false });
    kit.define({ name: "endless", schema: object, handler: () => new Promise(() => {}) });
    const queued = await kit.executor.enqueue("endless", {}, { timeoutMs: 60 });
    await new Promise((resolve) => setTimeout(resolve, 200));
    kit.startWorker();
    const execution = await ended(kit, queued.id);
    expect(execution).toMatchObject({ status: "TIMEOUT", errorCode: "SKILL_TIMEOUT", attempts: 1 });
    expect(execution?.durationMs).toBeGreaterThanOrEqual(50);
  });

  test("is retried by its skill's own policy", async () => {
    const kit = openWorkingKit();
    let calls = 0;
    kit.define({
      name: "flaky",
      schema: object,
      retry: { limit: 3, backoffMs: 1 },
      handler: () => {
        if (++calls < 3) throw new Error("not yet");
        return calls;
      },
    });
    const { id } = await kit.executor.enqueue("flaky", {});
    expect(await ended(kit, id)).toMatchObject({ status: "SUCCESS", output: 3, attempts: 3 });
  });

  test("fails with the text of its error in the audit, and is not run again", async () => {
    const kit = openWorkingKit();
    let calls = 0;
    kit.define({
      name: "fails",
      schema: object,
      handler: () => {
        calls++;
        throw new Error("no such thing");
      },
    });
    const { id } = await kit.executor.enqueue("fails", {});
    expect(await ended(kit, id)).toMatchObject({ status: "ERROR", errorCode: "SKILL_FAILED", errorMessage: "no such thing" });
    // A job that failed would be kept, to be run again.
    await until(async () => (await queuedRows(kit.file)).length + (await countJobs(kit.file)) === 0);
    expect(calls).toBe(1);
  });

  test("may call other skills, which are under it in the tree", async () => {
    const kit = openWorkingKit();
    kit.define({ name: "inner", schema: object, handler: () => 1 });
    kit.define({ name: "outer", schema: object, handler: (_, context) => context.run("inner", {}) });
    const { id } = await kit.executor.enqueue("outer", {}, { apiKeyId: "k1" });
    await ended(kit, id);
    expect(await kit.executor.listExecutions({ parentId: id })).toMatchObject([
      { skillName: "inner", rootId: id, apiKeyId: "k1" },
    ]);
  });

  test("by a handler belongs to its caller, and is no part of its call", async () => {
    const kit = openWorkingKit();
    kit.define({ name: "later", schema: object, handler: () => "done" });
    kit.define({ name: "now", schema: object, handler: async () => (await kit.executor.enqueue("later", {})).id });
    const call = await kit.executor.execute<string>("now", {}, { apiKeyId: "k1", sessionId: "s1" });
    const id = call.output ?? "";
    expect(await ended(kit, id)).toMatchObject({
      status: "SUCCESS",
      apiKeyId: "k1",
      sessionId: "s1",
      parentId: null,
      rootId: id,
    });
  });
});

describe("what refuses work that is enqueued", () => {
  test.each([
    ["an input that does not match", "strict", { n: "x" }, "INVALID_INPUT"],
    ["an input that is not JSON", "strict", { n: 1, f: () => 1 }, "INVALID_INPUT"],
    ["an input of more than 16 MiB", "strict", { n: 1, text: "x".repeat(17 * 1024 * 1024) }, "INVALID_INPUT"],
    ["a skill that does not exist", "nothing", {}, "SKILL_NOT_FOUND"],
    ["a reference that is none", "@@", {}, "INVALID_REFERENCE"],
    ["a disabled version", "off-switched@1.0.0", {}, "SKILL_DISABLED"],
    ["a mode that is off", "mode-off", {}, "SKILL_OFF"],
  ])("%s leaves a DENIED row and nothing in the queue", async (_, reference, input, code) => {
    const kit = openWorkingKit({ worker: false });
    const schema = { type: "object", properties: { n: { type: "number" } }, required: ["n"] } as const;
    kit.define({ name: "strict", schema, handler: () => 1 });
    kit.define({ name: "off-switched", schema: object, enabled: false, handler: () => 1 });
    kit.define({ name: "mode-off", schema: object, mode: "off", handler: () => 1 });
    await expect(kit.executor.enqueue(reference, input)).rejects.toMatchObject({ code, executionId: expect.any(String) });
    expect(await kit.executor.listExecutions()).toMatchObject([{ status: "DENIED", errorCode: code, input: null }]);
    expect(await queuedRows(kit.file)).toEqual([]);
  });

  test("the master switch", async () => {
    const kit = openWorkingKit({ worker: false });
    kit.define({ name: "any", schema: object, handler: () => 1 });
    await kit.registry.setSkillsEnabled(false);
    await expect(kit.executor.enqueue("any", {})).rejects.toMatchObject({ code: "SKILLS_DISABLED" });
  });

  test("a kit without an audit", async () => {
    const kit = openWorkingKit({ audit: false });
    kit.define({ name: "any", schema: object, handler: () => 1 });
    await expect(kit.executor.enqueue("any", {})).rejects.toMatchObject({ code: "INVALID_OPTION" });
    expect(() => kit.startWorker()).toThrow(expect.objectContaining({ code: "INVALID_OPTION" }));
    expect(await kit.executor.canEnqueue()).toBe(false);
  });

  test("a kit that is closing", async () => {
    const kit = openWorkingKit();
    kit.define({ name: "any", schema: object, handler: () => 1 });
    await kit.ready();
    await kit.close();
    await expect(kit.executor.enqueue("any", {})).rejects.toMatchObject({ code: "SHUTTING_DOWN" });
  });

  test.each([
    ["a priority that is no number", { priority: "high" }],
    ["a priority that is not whole", { priority: 1.5 }],
    ["a priority below the bounds", { priority: -1_001 }],
    ["a priority above the bounds", { priority: 1_001 }],
    ["a priority that is not finite", { priority: Number.NaN }],
    ["a time that is no time", { runAt: "tomorrow" }],
    ["a time without a zone", { runAt: "2030-01-01T00:00:00" }],
    ["a number for a time", { runAt: 5 }],
    ["an invalid date", { runAt: new Date(Number.NaN) }],
    ["a time that cannot be written with four digits", { runAt: new Date(8.64e15) }],
    ["an empty job key", { jobKey: "" }],
    ["a long job key", { jobKey: "x".repeat(256) }],
    ["a job key with a control character", { jobKey: "a\u0000b" }],
    ["a job key that is no text", { jobKey: {} }],
    ["a misspelt option", { runat: "2030-01-01T00:00:00Z" }],
    ["null", null],
  ])("%s", async (_, options) => {
    const kit = openWorkingKit({ worker: false });
    kit.define({ name: "any", schema: object, handler: () => 1 });
    await expect(kit.executor.enqueue("any", {}, {}, options as never)).rejects.toMatchObject({ code: "INVALID_OPTION" });
    expect(await kit.executor.countExecutions()).toBe(0);
  });

  test("a signal, which work for later cannot follow", async () => {
    const kit = openWorkingKit({ worker: false });
    const call = { signal: new AbortController().signal } as object;
    await expect(kit.executor.enqueue("any", {}, call)).rejects.toMatchObject({ code: "INVALID_OPTION" });
  });
});

describe("when work runs", () => {
  test("is not before its time, and at once when that has passed", async () => {
    const kit = openWorkingKit();
    kit.define({ name: "timed", schema: object, handler: () => Date.now() });
    await ended(kit, (await kit.executor.enqueue("timed", {})).id);
    const runAt = new Date(Date.now() + 3_000);
    const later = await kit.executor.enqueue("timed", {}, {}, { runAt });
    const muchLater = await kit.executor.enqueue("timed", {}, {}, { runAt: new Date(Date.now() + 3_600_000) });
    const past = await kit.executor.enqueue("timed", {}, {}, { runAt: "2001-01-01T00:00:00+02:00" });
    expect(await ended(kit, past.id)).toMatchObject({ status: "SUCCESS" });
    const execution = await ended(kit, later.id);
    expect(execution?.output).toBeGreaterThanOrEqual(runAt.getTime());
    expect(await kit.executor.getExecution(muchLater.id)).toMatchObject({ status: "QUEUED" });
  });

  test("follows the priority, the smallest first, then the time of enqueueing", async () => {
    const kit = openWorkingKit({ worker: false });
    const order: unknown[] = [];
    kit.define({ name: "noted", schema: object, handler: ({ n }) => void order.push(n) });
    for (const [n, priority] of [
      ["c", 0],
      ["e", 5],
      ["a", -1_000],
      ["d", 0],
      ["f", 1_000],
      ["b", -1],
    ] as const)
      await kit.executor.enqueue("noted", { n }, {}, { priority });
    kit.startWorker({ concurrency: 1 });
    await until(() => order.length === 6);
    expect(order).toEqual(["a", "b", "c", "d", "e", "f"]);
  });

  test("is at most as much at once as the worker may run", async () => {
    const kit = openWorkingKit({ worker: { concurrency: 3 } });
    const open = gate();
    let running = 0;
    let most = 0;
    kit.define({
      name: "counted",
      schema: object,
      handler: async () => {
        most = Math.max(most, ++running);
        await open.promise;
        running--;
      },
    });
    const ids = await Promise.all(Array.from({ length: 10 }, async () => (await kit.executor.enqueue("counted", {})).id));
    await until(() => running === 3);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(await kit.executor.countExecutions({ status: "QUEUED" })).toBe(7);
    open.open();
    for (const id of ids) expect(await ended(kit, id)).toMatchObject({ status: "SUCCESS" });
    expect(most).toBe(3);
  });

  test("is when its skill has a place: it goes back until then", async () => {
    const kit = openWorkingKit();
    let running = 0;
    let most = 0;
    kit.define({
      name: "narrow",
      schema: object,
      concurrency: { limit: 1 },
      handler: async () => {
        most = Math.max(most, ++running);
        await new Promise((resolve) => setTimeout(resolve, 50));
        running--;
      },
    });
    const ids = await Promise.all(Array.from({ length: 3 }, async () => (await kit.executor.enqueue("narrow", {})).id));
    for (const id of ids) expect(await ended(kit, id)).toMatchObject({ status: "SUCCESS", attempts: 1 });
    expect(most).toBe(1);
  });
});

describe("a job key", () => {
  test("replaces the work of the same owner that waits under it", async () => {
    const kit = openWorkingKit({ worker: false });
    const seen: unknown[] = [];
    kit.define({ name: "keyed", schema: object, handler: ({ n }) => void seen.push(n) });
    const enqueue = (n: number, apiKeyId: string) => kit.executor.enqueue("keyed", { n }, { apiKeyId }, { jobKey: "report" });
    const first = await enqueue(1, "k1");
    const other = await enqueue(2, "k2");
    const second = await enqueue(3, "k1");
    expect(await kit.executor.getExecution(first.id)).toMatchObject({
      status: "CANCELLED",
      errorCode: "SKILL_CANCELLED",
      errorMessage: expect.stringContaining(second.id),
      finishedAt: expect.any(String),
    });
    kit.startWorker({ concurrency: 1 });
    await ended(kit, second.id);
    await ended(kit, other.id);
    expect(seen).toEqual([2, 3]);
  });

  test("does not touch work that runs", async () => {
    const kit = openWorkingKit();
    const open = gate();
    kit.define({ name: "keyed", schema: object, handler: () => open.promise.then(() => "done") });
    const first = await kit.executor.enqueue("keyed", {}, {}, { jobKey: "report" });
    await until(async () => (await kit.executor.getExecution(first.id))?.status === "RUNNING");
    const second = await kit.executor.enqueue("keyed", {}, {}, { jobKey: "report" });
    open.open();
    expect(await ended(kit, first.id)).toMatchObject({ status: "SUCCESS" });
    expect(await ended(kit, second.id)).toMatchObject({ status: "SUCCESS" });
  });
});

describe("an idempotency key", () => {
  test("gives the execution that was enqueued with it, while it waits and when it has ended", async () => {
    const kit = openWorkingKit({ worker: false });
    let calls = 0;
    kit.define({ name: "once", schema: object, handler: () => ++calls });
    const call = { idempotencyKey: "a" };
    const first = await kit.executor.enqueue("once", { n: 1 }, call);
    expect(await kit.executor.enqueue("once", { n: 1 }, call)).toMatchObject({ id: first.id, status: "QUEUED" });
    await expect(kit.executor.enqueue("once", { n: 2 }, call)).rejects.toMatchObject({ code: "IDEMPOTENCY_MISMATCH" });
    kit.startWorker();
    await ended(kit, first.id);
    expect(await kit.executor.enqueue("once", { n: 1 }, call)).toMatchObject({ id: first.id, status: "SUCCESS", output: 1 });
    expect(await kit.executor.execute("once", { n: 1 }, call)).toMatchObject({ id: first.id, status: "SUCCESS" });
    expect(calls).toBe(1);
  });

  test("makes one execution of many enqueued at the same time", async () => {
    const kit = openWorkingKit({ worker: false });
    kit.define({ name: "once", schema: object, handler: () => 1 });
    const calls = Array.from({ length: 20 }, () => kit.executor.enqueue("once", {}, { idempotencyKey: "same" }));
    expect(new Set((await Promise.all(calls)).map(({ id }) => id)).size).toBe(1);
    expect(await queuedRows(kit.file)).toHaveLength(1);
  });
});
