import { describe, expect, test } from "vitest";
import { newImpatientDatabase } from "../../fixtures/database.js";
import { openTestKit, temporaryFolder, until } from "../../fixtures/kit.js";
import { lockDatabase } from "../../fixtures/lock.js";

const anything = { type: "object" } as const;
const kitWith = (options: Parameters<typeof openTestKit>[0] = {}) => {
  const kit = openTestKit(options);
  let runs = 0;
  kit.define({
    name: "echo",
    schema: anything,
    handler: (input) => {
      runs++;
      return input;
    },
  });
  return { kit, runs: () => runs };
};

describe("the audit", () => {
  test("has the committed final row of every acknowledged call, 500 at once", async () => {
    const { kit } = kitWith();
    const executions = await Promise.all(Array.from({ length: 500 }, (_, n) => kit.executor.execute("echo", { n })));
    const other = openTestKit({ database: kit.file });
    for (const { id, input } of executions)
      expect(await other.executor.getExecution(id)).toMatchObject({ status: "SUCCESS", output: input });
    expect(await other.executor.countExecutions({ status: "SUCCESS" })).toBe(500);
    expect(kit.executor.auditStats()).toEqual({ waiting: 0, written: expect.any(Number), lost: 0, lagMs: 0, failing: false });
  });

  test("shows a call as RUNNING while its handler runs", async () => {
    const kit = openTestKit();
    kit.define({
      name: "look",
      schema: anything,
      handler: async (_, { executionId }) => {
        await until(async () => (await kit.executor.getExecution(executionId)) !== undefined);
        return (await kit.executor.getExecution(executionId))?.status;
      },
    });
    expect(await kit.executor.run("look", {})).toBe("RUNNING");
  });

  test("redacts and cuts what it stores, not what the caller gets", async () => {
    const { kit } = kitWith({ audit: { maxBytes: 1_000 } });
    const secret = await kit.executor.execute("echo", { password: "hunter2", list: [{ accessToken: "t" }] });
    expect(secret.output).toEqual({ password: "hunter2", list: [{ accessToken: "t" }] });
    expect(await kit.executor.getExecution(secret.id)).toMatchObject({
      input: { password: "[redacted]", list: [{ accessToken: "[redacted]" }] },
      output: { password: "[redacted]" },
    });
    const large = await kit.executor.execute("echo", { text: "x".repeat(5_000) });
    expect(large.output).toEqual({ text: "x".repeat(5_000) });
    const stored = await kit.executor.getExecution(large.id);
    expect(stored?.input).toEqual({ $cut: true, bytes: 5_011, head: expect.stringMatching(/^\{"text":"x+$/) });
    expect(stored?.output).toMatchObject({ $cut: true });
  });

  test("redacts what the schemas mark with writeOnly and x-sensitive", async () => {
    const kit = openTestKit();
    kit.define({
      name: "marked",
      schema: {
        type: "object",
        properties: {
          pin: { type: "string", writeOnly: true },
          rows: { type: "array", items: { type: "object", properties: { born: { "x-sensitive": true } } } },
        },
      },
      outputSchema: { type: "object", properties: { score: { type: "number", "x-sensitive": true } } },
      handler: () => ({ score: 7, note: "n" }),
    });
    const { id } = await kit.executor.execute("marked", { pin: "1234", rows: [{ born: "2000", name: "A" }] });
    expect(await kit.executor.getExecution(id)).toMatchObject({
      input: { pin: "[redacted]", rows: [{ born: "[redacted]", name: "A" }] },
      output: { score: "[redacted]", note: "n" },
    });
  });

  test("keeps the history of a skill that was deleted", async () => {
    const { kit } = kitWith();
    const { id } = await kit.executor.execute("echo", {});
    expect(await kit.registry.unregister("echo")).toBe(1);
    await expect(kit.executor.execute("echo", {})).rejects.toMatchObject({ code: "SKILL_NOT_FOUND" });
    expect(await kit.executor.listExecutions({ skillName: "echo", status: "SUCCESS" })).toMatchObject([
      { id, skillName: "echo", skillVersion: "1.0.0" },
    ]);
  });

  test("lists newest first, by page and by filter", async () => {
    const { kit } = kitWith();
    const ids: string[] = [];
    for (const session of ["a", "b", "a", "b", "a"])
      ids.push((await kit.executor.execute("echo", {}, { sessionId: session })).id);
    ids.reverse();
    const first = await kit.executor.listExecutions({ limit: 2 });
    const second = await kit.executor.listExecutions({ limit: 2, cursor: first[1]?.id });
    expect([...first, ...second].map((row) => row.id)).toEqual(ids.slice(0, 4));
    expect((await kit.executor.listExecutions({ sessionId: "b" })).map((row) => row.id)).toEqual([ids[1], ids[3]]);
    expect(await kit.executor.countExecutions({ sessionId: "a" })).toBe(3);
    await expect(kit.executor.listExecutions({ limit: 0 })).rejects.toMatchObject({ code: "INVALID_OPTION" });
  });

  test("deletes what is older than the retention time, and nothing else", async () => {
    const { kit } = kitWith();
    await kit.executor.execute("echo", { n: 1 });
    await kit.close();
    const day = 24 * 60 * 60 * 1000;
    const later = openTestKit({ database: kit.file, audit: { retentionDays: 0.01 } });
    await later.ready();
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(await later.executor.countExecutions()).toBe(1);
    const now = Date.now;
    Date.now = () => now() + day;
    try {
      await later.close();
      const muchLater = openTestKit({ database: kit.file, audit: { retentionDays: 0.01 } });
      await muchLater.ready();
      await until(async () => (await muchLater.executor.countExecutions()) === 0);
    } finally {
      Date.now = now;
    }
  });

  test("switched off keeps nothing, and calls run as before", async () => {
    const { kit } = kitWith({ audit: false });
    expect(await kit.executor.execute("echo", { n: 1 })).toMatchObject({ status: "SUCCESS", output: { n: 1 } });
    expect(await kit.executor.countExecutions()).toBe(0);
    await expect(kit.executor.execute("echo", {}, { idempotencyKey: "k" })).rejects.toMatchObject({ code: "INVALID_OPTION" });
  });
});

describe("while another process holds the database", () => {
  test("a finished call waits for its row, new calls and work for later are refused before anything is done, and all recovers by itself", async () => {
    const { kit, runs } = kitWith({ database: newImpatientDatabase() });
    await kit.executor.execute("echo", {});
    const lock = await lockDatabase(kit.file);
    const waiting = kit.executor.execute("echo", { n: 1 });
    await until(() => kit.executor.auditStats()?.failing === true);
    const runsBefore = runs();
    await expect(kit.executor.execute("echo", { n: 2 })).rejects.toMatchObject({
      code: "AUDIT_UNAVAILABLE",
      status: 503,
      headers: { "Retry-After": "1" },
    });
    for (const idempotencyKey of [undefined, "key"])
      await expect(kit.executor.enqueue("echo", {}, { idempotencyKey })).rejects.toMatchObject({
        code: "AUDIT_UNAVAILABLE",
        headers: { "Retry-After": "1" },
      });
    expect(runs()).toBe(runsBefore);
    await lock.release();
    expect(await waiting).toMatchObject({ status: "SUCCESS" });
    expect(await kit.executor.execute("echo", { n: 3 })).toMatchObject({ status: "SUCCESS" });
    expect(await kit.executor.countExecutions({ status: "SUCCESS" })).toBe(3);
    expect(await kit.executor.countExecutions()).toBe(3);
    expect(kit.logged.filter((line) => line.message.startsWith("the audit"))).toMatchObject([
      { level: "error" },
      { level: "info" },
    ]);
  });

  test("longer than waitMs, the finished call fails with AUDIT_UNAVAILABLE, and its row is written when the lock is gone", async () => {
    const { kit } = kitWith({ audit: { waitMs: 200 } });
    await kit.ready();
    const lock = await lockDatabase(kit.file);
    const error = await kit.executor.execute("echo", { n: 1 }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "AUDIT_UNAVAILABLE", executionId: expect.any(String) });
    await lock.release();
    const { executionId } = error as { executionId: string };
    await until(async () => (await kit.executor.getExecution(executionId))?.status === "SUCCESS");
  });

  test("with audit.required false, calls go on", async () => {
    const { kit } = kitWith({ audit: { required: false, waitMs: 100 } });
    await kit.ready();
    const lock = await lockDatabase(kit.file);
    for (let n = 0; n < 3; n++) expect(await kit.executor.execute("echo", { n })).toMatchObject({ status: "SUCCESS" });
    await lock.release();
    await until(async () => (await kit.executor.countExecutions({ status: "SUCCESS" })) === 3);
  });

  test("the event loop does not stall", async () => {
    const { kit } = kitWith({ audit: { waitMs: 3_500 } });
    await kit.ready();
    const lock = await lockDatabase(kit.file);
    let turns = 0;
    const timer = setInterval(() => {
      turns++;
    }, 5);
    await Promise.all(Array.from({ length: 50 }, () => kit.executor.execute("echo", {}).catch(() => {})));
    clearInterval(timer);
    await lock.release();
    // A driver that waits for the lock itself would block for its whole busy time, and leave a turn or two.
    expect(turns).toBeGreaterThan(10);
  });
});

test("a database file whose folder is gone refuses calls with STORE_INVALID, and the kit recovers when it is there", async () => {
  const folder = temporaryFolder();
  const { kit } = kitWith({ database: `${folder}/missing/skills.db` });
  await expect(kit.executor.execute("echo", {})).rejects.toMatchObject({
    code: "STORE_INVALID",
    message: expect.stringContaining("missing"),
  });
  const { mkdir } = await import("node:fs/promises");
  await mkdir(`${folder}/missing`);
  expect(await kit.executor.execute("echo", {})).toMatchObject({ status: "SUCCESS" });
});
