import { describe, expect, test } from "vitest";
import { gate, openTestKit, until } from "../../fixtures/kit.js";

const anything = { type: "object" } as const;

describe("closing the kit", () => {
  test("ends calls that had not started their handler when the grace time was over", async () => {
    const kit = openTestKit();
    kit.define({ name: "stuck", schema: anything, handler: () => new Promise(() => {}) });
    // Still opening the database when the grace time ends.
    const call = kit.executor.execute("stuck", {}, { timeoutMs: 60_000 });
    await kit.close({ graceMs: 0 });
    expect(await call).toMatchObject({ status: "CANCELLED", errorCode: "SHUTTING_DOWN" });
  });

  test("while it opens closes what was opened", async () => {
    const kit = openTestKit();
    kit.define({ name: "one", schema: anything, handler: () => 1 });
    const ready = kit.ready().catch((error: unknown) => error);
    await kit.close();
    await ready;
    const again = openTestKit({ database: kit.file });
    expect(await again.executor.countExecutions()).toBe(0);
  });

  test("takes any grace time", async () => {
    const warnings: Error[] = [];
    const note = (warning: Error) => void warnings.push(warning);
    process.on("warning", note);
    try {
      const kit = openTestKit();
      const free = gate();
      kit.define({ name: "wait", schema: anything, handler: () => free.promise.then(() => "done") });
      const call = kit.executor.execute("wait", {});
      await until(async () => (await kit.executor.countExecutions({ status: "RUNNING" })) === 1);
      const closed = kit.close({ graceMs: Number.POSITIVE_INFINITY });
      setTimeout(free.open, 20);
      expect(await call).toMatchObject({ status: "SUCCESS", output: "done" });
      await closed;
      expect(warnings).toEqual([]);
    } finally {
      process.off("warning", note);
    }
  });

  test("refuses calls of a handler that ended long ago, or that ignored its end, without running anything", async () => {
    const kit = openTestKit();
    const closed = gate();
    const answers: Promise<unknown>[] = [];
    let runs = 0;
    kit.define({ name: "leaf", schema: anything, handler: () => ++runs });
    const later = (run: () => Promise<unknown>) => closed.promise.then(run).catch((error: unknown) => error);
    kit.define({
      name: "detached",
      schema: anything,
      handler: (_, context) => void answers.push(later(() => context.run("leaf", {}))),
    });
    kit.define({
      name: "deaf",
      schema: anything,
      handler: (_, context) => {
        answers.push(later(() => context.run("leaf", {})));
        return new Promise(() => {});
      },
    });
    await kit.executor.execute("detached", {});
    await kit.executor.execute("deaf", {}, { timeoutMs: 20 });
    await kit.close();
    closed.open();
    for (const answer of await Promise.all(answers)) expect(answer).toMatchObject({ code: "SHUTTING_DOWN" });
    expect(runs).toBe(0);
    expect(kit.executor.auditStats()).toMatchObject({ waiting: 0, lost: 0 });
  });

  test("refuses calls that a handler of another kit makes", async () => {
    const [kit, other] = [openTestKit(), openTestKit()];
    const free = gate();
    kit.define({ name: "wait", schema: anything, handler: () => free.promise });
    const running = kit.executor.execute("wait", {});
    await until(async () => (await kit.executor.countExecutions({ status: "RUNNING" })) === 1);
    const closed = kit.close();
    other.define({
      name: "caller",
      schema: anything,
      handler: () => kit.executor.run("wait", {}).catch((error: { code: unknown }) => error.code),
    });
    expect(await other.executor.run("caller", {})).toBe("SHUTTING_DOWN");
    free.open();
    await Promise.all([running, closed]);
  });

  test("leaves no timer, whatever the audit was doing", async () => {
    const before = timers();
    const kit = openTestKit();
    kit.define({ name: "quick", schema: anything, handler: () => 1 });
    kit.define({ name: "slow", schema: anything, handler: () => new Promise(() => {}) });
    const calls = [kit.executor.execute("slow", {}), ...Array.from({ length: 50 }, () => kit.executor.execute("quick", {}))];
    await Promise.all(calls.slice(1));
    await kit.close({ graceMs: 0 });
    await Promise.all(calls);
    await new Promise((resolve) => setImmediate(resolve));
    expect(timers()).toBeLessThanOrEqual(before);
  });
});

function timers(): number {
  return process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;
}
