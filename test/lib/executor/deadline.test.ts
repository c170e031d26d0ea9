import { afterEach, describe, expect, test, vi } from "vitest";
import { SkillError } from "../../../lib/index.js";
import { gate, openTestKit, until } from "../../fixtures/kit.js";

const anything = { type: "object" } as const;

afterEach(() => void vi.useRealTimers());
const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;

describe("a handler that does not finish in time", () => {
  test("sees its signal abort with SKILL_TIMEOUT, and the call ends as TIMEOUT", async () => {
    const kit = openTestKit();
    const reasons: unknown[] = [];
    kit.define({
      name: "slow",
      schema: anything,
      timeoutMs: 50,
      handler: (_, { signal }) =>
        new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(reasons.push(signal.reason)))),
    });
    const execution = await kit.executor.execute("slow", {});
    expect(execution).toMatchObject({ status: "TIMEOUT", errorCode: "SKILL_TIMEOUT", output: null, attempts: 1 });
    expect(reasons).toMatchObject([{ code: "SKILL_TIMEOUT" }]);
    await expect(kit.executor.run("slow", {})).rejects.toMatchObject({ code: "SKILL_TIMEOUT", status: 504, expose: false });
  });

  test("and ignores its signal is not waited for; how it ends is logged, and the row stays", async () => {
    const kit = openTestKit();
    const stuck = gate();
    kit.define({ name: "deaf", schema: anything, handler: () => stuck.promise.then(() => ({ late: true })) });
    const execution = await kit.executor.execute("deaf", {}, { timeoutMs: 30 });
    expect(execution.status).toBe("TIMEOUT");
    stuck.open();
    await until(() => kit.logged.some((line) => line.message === "a handler ended after its call"));
    expect(kit.logged).toContainEqual(
      expect.objectContaining({ level: "warn", fields: { executionId: execution.id, requestId: null, skill: "deaf@1.0.0" } }),
    );
    expect(await kit.executor.getExecution(execution.id)).toMatchObject({ status: "TIMEOUT", output: null });
  });

  test("and then fails has its error logged, not thrown", async () => {
    const kit = openTestKit();
    const stuck = gate();
    kit.define({ name: "deaf", schema: anything, handler: () => stuck.promise.then(() => Promise.reject(new Error("late"))) });
    await kit.executor.execute("deaf", {}, { timeoutMs: 30 });
    stuck.open();
    await until(() =>
      kit.logged.some((line) => line.message === "a handler failed after its call" && String(line.fields.err).includes("late")),
    );
  });
});

describe("the time limit", () => {
  const limitOf = async (options: { kit?: object; skill?: number; call?: number; set?: number }) => {
    const kit = openTestKit({ ...options.kit });
    kit.define({ name: "left", schema: anything, timeoutMs: options.skill, handler: (_, { deadline }) => deadline - Date.now() });
    if (options.set !== undefined) kit.executor.setTimeout(options.set);
    return kit.executor.run("left", {}, { timeoutMs: options.call });
  };
  test.each([
    [{}, 30_000],
    [{ set: 20_000 }, 20_000],
    [{ kit: { timeoutMs: 10_000 } }, 10_000],
    [{ skill: 50_000 }, 50_000],
    [{ skill: 50_000, call: 60_000 }, 60_000],
    [{ skill: 50_000, call: 60_000, kit: { maxTimeoutMs: 40_000 } }, 40_000],
  ])("is the call's, else the skill's, else the executor's, and never above the kit's: %j", async (options, expectedMs) => {
    // No time passes between the start of the call and the handler's look at the clock.
    vi.useFakeTimers({ toFake: ["Date", "performance"] });
    expect(await limitOf(options)).toBe(expectedMs);
  });

  test.each([0, -1, 1.5, Number.NaN, 2 ** 31, "30"])("of %s is refused", (timeoutMs) => {
    const kit = openTestKit();
    expect(() => kit.executor.setTimeout(timeoutMs as number)).toThrow(expect.objectContaining({ code: "INVALID_OPTION" }));
  });
});

describe("a call", () => {
  const waiting = () => {
    const kit = openTestKit();
    const started = gate<AbortSignal>();
    kit.define({
      name: "wait",
      schema: anything,
      handler: (_, { signal }) => {
        started.open(signal);
        return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      },
    });
    return { kit, started };
  };

  test("ends as CANCELLED when its caller's signal aborts, with the caller's reason as cause", async () => {
    const { kit, started } = waiting();
    const caller = new AbortController();
    const call = kit.executor.execute("wait", {}, { signal: caller.signal });
    const signal = await started.promise;
    caller.abort(new Error("not needed any more"));
    expect(await call).toMatchObject({ status: "CANCELLED", errorCode: "SKILL_CANCELLED" });
    expect(signal.reason).toMatchObject({ code: "SKILL_CANCELLED", cause: { message: "not needed any more" } });
  });

  test("does not start its handler when the signal had aborted before", async () => {
    const { kit } = waiting();
    const execution = await kit.executor.execute("wait", {}, { signal: AbortSignal.abort() });
    expect(execution).toMatchObject({ status: "CANCELLED", attempts: 0 });
  });

  test("keeps the first reason: a cancellation after the deadline changes nothing", async () => {
    const { kit, started } = waiting();
    const caller = new AbortController();
    const call = kit.executor.execute("wait", {}, { timeoutMs: 30, signal: caller.signal });
    const signal = await started.promise;
    signal.addEventListener("abort", () => caller.abort());
    expect(await call).toMatchObject({ status: "TIMEOUT" });
    expect(signal.reason).toMatchObject({ code: "SKILL_TIMEOUT" });
  });

  test("can be cancelled by its id while it runs, and no longer when it has ended", async () => {
    const { kit, started } = waiting();
    const call = kit.executor.execute("wait", {});
    await started.promise;
    await until(async () => (await kit.executor.countExecutions({ status: "RUNNING" })) === 1);
    const [row] = await kit.executor.listExecutions();
    await kit.executor.cancel(row?.id ?? "");
    expect(await call).toMatchObject({ id: row?.id, status: "CANCELLED" });
    await expect(kit.executor.cancel(row?.id ?? "")).rejects.toMatchObject({ code: "EXECUTION_NOT_RUNNING", status: 409 });
    await expect(kit.executor.cancel("nobody")).rejects.toMatchObject({ code: "EXECUTION_NOT_FOUND", status: 404 });
  });

  test("leaves no timer and no listener behind", async () => {
    const kit = openTestKit();
    kit.define({
      name: "quick",
      schema: anything,
      retry: { limit: 1, backoffMs: 1 },
      handler: () => Promise.reject(new Error("x")),
    });
    await kit.ready();
    const before = timers();
    const caller = new AbortController();
    let listeners = 0;
    const { addEventListener, removeEventListener } = caller.signal;
    caller.signal.addEventListener = (...args: Parameters<typeof addEventListener>) => {
      listeners++;
      addEventListener.apply(caller.signal, args);
    };
    caller.signal.removeEventListener = (...args: Parameters<typeof removeEventListener>) => {
      listeners--;
      removeEventListener.apply(caller.signal, args);
    };
    await kit.executor.execute("quick", {}, { signal: caller.signal, timeoutMs: 60_000 });
    expect(listeners).toBe(0);
    await until(() => timers() <= before);
  });
});

describe("closing the kit", () => {
  test("refuses new calls, lets running ones finish, and ends the rest after the grace time", async () => {
    const kit = openTestKit();
    const quick = gate();
    const codes: unknown[] = [];
    kit.define({ name: "quick", schema: anything, handler: (_, context) => quick.promise.then(() => context.run("leaf", {})) });
    kit.define({ name: "leaf", schema: anything, handler: () => "nested calls go on" });
    kit.define({
      name: "stuck",
      schema: anything,
      handler: (_, { signal }) =>
        new Promise(() => signal.addEventListener("abort", () => codes.push((signal.reason as SkillError).code))),
    });
    const [finishes, isEnded] = [kit.executor.execute("quick", {}), kit.executor.execute("stuck", {})];
    await until(async () => (await kit.executor.countExecutions({ status: "RUNNING" })) === 2);
    const closed = kit.close({ graceMs: 3_000 });
    quick.open();
    await expect(kit.executor.execute("leaf", {})).rejects.toMatchObject({ code: "SHUTTING_DOWN", status: 503 });
    expect(await finishes).toMatchObject({ status: "SUCCESS", output: "nested calls go on" });
    expect(await isEnded).toMatchObject({ status: "CANCELLED", errorCode: "SHUTTING_DOWN" });
    await closed;
    expect(codes).toEqual(["SHUTTING_DOWN"]);
    const again = openTestKit({ database: kit.file });
    const rows = await again.executor.listExecutions();
    expect(rows.map((row) => [row.skillName, row.status]).sort()).toEqual([
      ["leaf", "SUCCESS"],
      ["quick", "SUCCESS"],
      ["stuck", "CANCELLED"],
    ]);
  });

  test("twice, or before anything was opened, is fine; what is asked of it later is refused", async () => {
    const kit = openTestKit();
    await Promise.all([kit.close(), kit.close()]);
    await expect(kit.ready()).rejects.toMatchObject({ code: "SHUTTING_DOWN" });
    await expect(kit.registry.list()).rejects.toBeInstanceOf(SkillError);
  });
});
