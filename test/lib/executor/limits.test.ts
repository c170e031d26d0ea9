import { afterEach, describe, expect, test, vi } from "vitest";
import { gate, openTestKit, type TestKit, until } from "../../fixtures/kit.js";

const anything = { type: "object" } as const;

afterEach(() => void vi.useRealTimers());

describe("a skill with a retry policy", () => {
  test("is tried again until it succeeds, in one execution that says how often", async () => {
    const kit = openTestKit();
    const attempts: number[] = [];
    kit.define({
      name: "flaky",
      schema: anything,
      retry: { limit: 3, backoffMs: 1 },
      handler: (_, { attempt }) => {
        attempts.push(attempt);
        if (attempt < 3) throw new Error("not yet");
        return "done";
      },
    });
    expect(await kit.executor.execute("flaky", {})).toMatchObject({ status: "SUCCESS", output: "done", attempts: 3 });
    expect(attempts).toEqual([1, 2, 3]);
    expect(await kit.executor.countExecutions()).toBe(1);
  });

  test("ends with the last error when the limit is reached", async () => {
    const kit = openTestKit();
    kit.define({
      name: "never",
      schema: anything,
      retry: { limit: 2, backoffMs: 1 },
      handler: (_, { attempt }) => Promise.reject(new Error(`no ${attempt}`)),
    });
    expect(await kit.executor.execute("never", {})).toMatchObject({ status: "ERROR", errorMessage: "no 3", attempts: 3 });
  });

  test("waits longer each time, up to a limit", async () => {
    const kit = openTestKit();
    const at: number[] = [];
    kit.define({
      name: "wait",
      schema: anything,
      retry: { limit: 3, backoffMs: 20, factor: 3, maxBackoffMs: 60, jitter: false },
      handler: () => {
        at.push(performance.now());
        throw new Error("x");
      },
    });
    await kit.executor.execute("wait", {});
    const waits = at.slice(1).map((time, index) => time - (at[index] ?? 0));
    for (const [index, atLeastMs] of [19, 59, 59].entries()) expect(waits[index]).toBeGreaterThanOrEqual(atLeastMs);
  });

  test.each([
    ["a 4xx answer that is meant", () => Promise.reject(Object.assign(new Error("gone"), { status: 410, expose: true }))],
    ["an output that is not JSON", () => 1n],
  ])("is not tried again after %s", async (_, handler) => {
    const kit = openTestKit();
    kit.define({ name: "once", schema: anything, retry: { limit: 5, backoffMs: 1 }, handler });
    expect(await kit.executor.execute("once", {})).toMatchObject({ status: "ERROR", attempts: 1 });
  });

  test("is not tried again when a skill it calls was refused", async () => {
    const kit = openTestKit();
    kit.define({
      name: "once",
      schema: anything,
      retry: { limit: 5, backoffMs: 1 },
      handler: (_, context) => context.run("missing", {}),
    });
    expect(await kit.executor.execute("once", {})).toMatchObject({ status: "ERROR", attempts: 1 });
  });

  test("stops waiting when it is cancelled or its time is over", async () => {
    const kit = openTestKit();
    const caller = new AbortController();
    let runs = 0;
    kit.define({
      name: "patient",
      schema: anything,
      retry: { limit: 5, backoffMs: 600_000 },
      handler: () => {
        if (++runs === 2) setTimeout(() => caller.abort(), 20);
        return Promise.reject(new Error("x"));
      },
    });
    expect(await kit.executor.execute("patient", {}, { timeoutMs: 50 })).toMatchObject({ status: "TIMEOUT", attempts: 1 });
    const cancelled = await kit.executor.execute("patient", {}, { signal: caller.signal, timeoutMs: 900_000 });
    expect(cancelled).toMatchObject({
      status: "CANCELLED",
      attempts: 1,
    });
  });
});

describe("a skill with a concurrency limit", () => {
  const limited = (concurrency: { limit: number; queue?: number }) => {
    const kit = openTestKit();
    const free = gate();
    let running = 0;
    let most = 0;
    kit.define({
      name: "narrow",
      schema: anything,
      concurrency,
      handler: async () => {
        most = Math.max(most, ++running);
        await free.promise;
        running--;
      },
    });
    return { kit, free, most: () => most, running: () => running };
  };

  test("runs that many at once, lets some wait, and refuses the rest as SKILL_BUSY", async () => {
    const { kit, free, most, running } = limited({ limit: 2, queue: 1 });
    const calls = Array.from({ length: 4 }, () => kit.executor.execute("narrow", {}).catch((error: unknown) => error));
    await until(() => running() === 2);
    expect(await Promise.race(calls)).toMatchObject({ code: "SKILL_BUSY", status: 503, headers: { "Retry-After": "1" } });
    free.open();
    const ended = (await Promise.all(calls)) as { status?: unknown }[];
    expect(ended.filter((one) => one.status === "SUCCESS")).toHaveLength(3);
    expect(most()).toBe(2);
    expect((await kit.executor.listExecutions()).map((row) => row.status).sort()).toEqual([
      "DENIED",
      "SUCCESS",
      "SUCCESS",
      "SUCCESS",
    ]);
  });

  test("gives up a place in the queue at the deadline, and the place is not lost", async () => {
    const { kit, free, running } = limited({ limit: 1, queue: 1 });
    const first = kit.executor.execute("narrow", {});
    await until(() => running() === 1);
    expect(await kit.executor.execute("narrow", {}, { timeoutMs: 30 })).toMatchObject({ status: "TIMEOUT", attempts: 0 });
    free.open();
    await first;
    expect(await kit.executor.execute("narrow", {})).toMatchObject({ status: "SUCCESS" });
  });

  test("counts a handler that ignores its signal until it really ends", async () => {
    const { kit, free } = limited({ limit: 1 });
    expect(await kit.executor.execute("narrow", {}, { timeoutMs: 30 })).toMatchObject({ status: "TIMEOUT" });
    await expect(kit.executor.execute("narrow", {})).rejects.toMatchObject({ code: "SKILL_BUSY" });
    free.open();
    await until(async () => (await kit.executor.execute("narrow", {}).catch(() => undefined))?.status === "SUCCESS");
  });
});

describe("a skill with a circuit breaker", () => {
  const breaking = (handler: () => unknown, halfOpenAfterMs = 100) => {
    const kit = openTestKit();
    let runs = 0;
    kit.define({
      name: "fragile",
      schema: anything,
      breaker: { failures: 2, halfOpenAfterMs },
      handler: () => {
        runs++;
        return handler();
      },
    });
    return { kit, runs: () => runs };
  };

  test("is refused as CIRCUIT_OPEN after that many failures, without running, until a probe succeeds", async () => {
    // The breaker's clock moves only when the test says so.
    vi.useFakeTimers({ toFake: ["Date"] });
    let healthy = false;
    const { kit, runs } = breaking(() => (healthy ? "fine" : Promise.reject(new Error("down"))));
    for (let call = 0; call < 2; call++) expect((await kit.executor.execute("fragile", {})).status).toBe("ERROR");
    await expect(kit.executor.execute("fragile", {})).rejects.toMatchObject({
      code: "CIRCUIT_OPEN",
      status: 503,
      retryAfterMs: 100,
    });
    expect(runs()).toBe(2);
    vi.setSystemTime(Date.now() + 99);
    await expect(kit.executor.execute("fragile", {})).rejects.toMatchObject({ code: "CIRCUIT_OPEN" });
    vi.setSystemTime(Date.now() + 1);
    expect((await kit.executor.execute("fragile", {})).status).toBe("ERROR");
    await expect(kit.executor.execute("fragile", {})).rejects.toMatchObject({ code: "CIRCUIT_OPEN" });
    healthy = true;
    vi.setSystemTime(Date.now() + 100);
    expect(await kit.executor.execute("fragile", {})).toMatchObject({ status: "SUCCESS", output: "fine" });
    expect(await kit.executor.execute("fragile", {})).toMatchObject({ status: "SUCCESS" });
  });

  test("is not opened by meant 4xx answers or by callers that leave", async () => {
    const { kit, runs } = breaking(() => Promise.reject(Object.assign(new Error("gone"), { status: 410, expose: true })));
    for (let call = 0; call < 4; call++) expect((await kit.executor.execute("fragile", {})).errorCode).toBe("SKILL_FAILED");
    expect(runs()).toBe(4);
    for (let call = 0; call < 4; call++)
      expect((await kit.executor.execute("fragile", {}, { signal: AbortSignal.abort() })).status).toBe("CANCELLED");
  });

  test("is opened by timeouts", async () => {
    const { kit } = breaking(() => new Promise(() => {}), 60_000);
    for (let call = 0; call < 2; call++)
      expect((await kit.executor.execute("fragile", {}, { timeoutMs: 20 })).status).toBe("TIMEOUT");
    await expect(kit.executor.execute("fragile", {})).rejects.toMatchObject({
      code: "CIRCUIT_OPEN",
      headers: { "Retry-After": "60" },
    });
  });
});

/** Each way to keep the version `switched@1.0.0` from running, and how a call that comes then is refused. */
const ways: [string, (kit: TestKit) => Promise<unknown>, string][] = [
  ["disabled", ({ registry }) => registry.setEnabled("switched", "1.0.0", false), "SKILL_DISABLED"],
  ["switched off", ({ registry }) => registry.setMode("switched", "1.0.0", "off"), "SKILL_OFF"],
  ["removed by force", ({ registry }) => registry.unregister("switched", "1.0.0", "system", { force: true }), "SKILL_NOT_FOUND"],
  ["kept from running with all others", ({ registry }) => registry.setSkillsEnabled(false), "SKILLS_DISABLED"],
];

describe("a version that is switched off while a call waits for a place", () => {
  const waiting = async (options: { apiKeyId?: string; breaker?: { failures: number } } = {}) => {
    const kit = openTestKit();
    const free = gate();
    let starts = 0;
    kit.define({
      name: "switched",
      schema: anything,
      concurrency: { limit: 1, queue: 5 },
      ...options,
      handler: async () => {
        starts++;
        await free.promise;
      },
    });
    const caller = { apiKeyId: options.apiKeyId ?? "default" };
    const first = kit.executor.execute("switched@^1", {}, caller);
    await until(() => starts === 1);
    const others = [1, 2].map(() => kit.executor.execute("switched@^1", {}, caller));
    return { kit, free, first, others: Promise.allSettled(others), starts: () => starts };
  };

  test.each(ways)("%s: the call is refused, and the one that ran goes on", async (_, change, code) => {
    const { kit, free, first, others, starts } = await waiting();
    await change(kit);
    free.open();
    expect(await first).toMatchObject({ status: "SUCCESS" });
    // The second of them gets its place only when the first has given it back.
    for (const { reason } of (await others) as PromiseRejectedResult[]) expect(reason).toMatchObject({ code });
    expect(starts()).toBe(1);
    const denied = await kit.executor.listExecutions({ status: "DENIED" });
    expect(denied).toHaveLength(2);
    for (const row of denied) expect(row).toMatchObject({ errorCode: code, skillVersion: "1.0.0", attempts: 0, input: null });
  });

  test("leaves its place and its circuit as they were", async () => {
    const { kit, free, others, starts } = await waiting({ breaker: { failures: 1 } });
    await kit.registry.setEnabled("switched", "1.0.0", false);
    free.open();
    await others;
    await kit.registry.setEnabled("switched", "1.0.0", true);
    expect(await kit.executor.execute("switched", {})).toMatchObject({ status: "SUCCESS" });
    expect(starts()).toBe(2);
  });

  test("and on again does not matter", async () => {
    const { kit, free, others } = await waiting();
    await kit.registry.setEnabled("switched", "1.0.0", false);
    await kit.registry.setEnabled("switched", "1.0.0", true);
    free.open();
    for (const { status } of await others) expect(status).toBe("fulfilled");
  });

  test("is not replaced by another owner's", async () => {
    const { kit, free, others, starts } = await waiting({ apiKeyId: "k1" });
    kit.define({ name: "switched", schema: anything, handler: () => "another" });
    await kit.ready();
    await kit.registry.unregister("switched", "1.0.0", "k1", { force: true });
    free.open();
    for (const { reason } of (await others) as PromiseRejectedResult[]) expect(reason).toMatchObject({ code: "SKILL_NOT_FOUND" });
    expect(starts()).toBe(1);
  });
});

test("a version that is disabled while an input is checked does not start", async () => {
  const kit = openTestKit();
  const [checks, checked] = [gate(), gate()];
  let starts = 0;
  const validate = async (value: unknown) => {
    checks.open();
    await checked.promise;
    return { value };
  };
  kit.executor.registerParsedHandler("slow", {
    run: () => starts++,
    parseInput: async (sent) => ({ faults: undefined, ...(await validate(sent)) }),
  });
  await kit.registry.register({ name: "switched", schema: anything, handler: "slow" });
  const call = kit.executor.execute("switched", {});
  await checks.promise;
  await kit.registry.setEnabled("switched", "1.0.0", false);
  checked.open();
  await expect(call).rejects.toMatchObject({ code: "SKILL_DISABLED" });
  expect(starts).toBe(0);
});

test.each(ways)("a call whose version is %s is not tried again, and ends as its attempt did", async (_, change, code) => {
  const kit = openTestKit();
  let starts = 0;
  kit.define({
    name: "switched",
    schema: anything,
    retry: { limit: 5, backoffMs: 1 },
    handler: async () => {
      if (++starts === 2) await change(kit);
      throw new Error(`no ${starts}`);
    },
  });
  const execution = await kit.executor.execute("switched", {});
  expect(execution).toMatchObject({ status: "ERROR", errorCode: "SKILL_FAILED", errorMessage: "no 2", attempts: 2 });
  expect(starts).toBe(2);
  expect(await kit.executor.getExecution(execution.id)).toMatchObject({ status: "ERROR", attempts: 2 });
  const warnings = kit.logged.filter(({ level }) => level === "warn");
  expect(warnings).toMatchObject([{ fields: { executionId: execution.id, skill: "switched@1.0.0", err: { code } } }]);
});
