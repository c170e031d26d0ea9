import { afterEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { SkillLimits } from "../../../lib/executor/limits.js";
import { toFailure } from "../../../lib/executor/outcome.js";
import { type Skill, SkillError } from "../../../lib/index.js";
import { gate, openTestKit, until } from "../../fixtures/kit.js";

const anything = { type: "object" } as const;

afterEach(() => void vi.useRealTimers());

describe("a handler that keeps the event loop past its time limit", () => {
  const block = (ms: number) => {
    const end = performance.now() + ms;
    while (performance.now() < end);
  };

  test.each([
    ["and returns", () => block(60)],
    ["after waiting, and returns", () => Promise.resolve().then(() => block(60))],
    [
      "and throws",
      () => {
        block(60);
        throw new Error("late");
      },
    ],
  ])("%s ends as TIMEOUT, is not tried again, and its end is logged", async (_, handler) => {
    const kit = openTestKit();
    let runs = 0;
    kit.define({
      name: "greedy",
      schema: anything,
      timeoutMs: 30,
      retry: { limit: 3, backoffMs: 0 },
      handler: () => {
        runs++;
        return handler();
      },
    });
    expect(await kit.executor.execute("greedy", {})).toMatchObject({ status: "TIMEOUT", output: null, attempts: 1 });
    expect(runs).toBe(1);
    await until(() => kit.logged.some((line) => line.message.endsWith("after its call")));
  });
});

describe("a schema that checks the input by asking somebody", () => {
  const asking = () => {
    const kit = openTestKit();
    const asked = gate();
    let runs = 0;
    const schema = z.object({ id: z.string().refine(() => asked.open() ?? new Promise<boolean>(() => {})) });
    kit.define({ name: "ask", schema, handler: () => ++runs });
    return { kit, asked, runs: () => runs };
  };

  test("and gets no answer is ended by the time limit, with a row", async () => {
    const { kit, runs } = asking();
    const execution = await kit.executor.execute("ask", { id: "a" }, { timeoutMs: 50 });
    expect(execution).toMatchObject({ status: "TIMEOUT", attempts: 0, durationMs: null });
    expect(await kit.executor.getExecution(execution.id)).toMatchObject({ status: "TIMEOUT", input: { id: "a" } });
    expect(runs()).toBe(0);
  });

  test("and gets no answer is ended by the caller's signal and by closing", async () => {
    const { kit, asked } = asking();
    const call = kit.executor.execute("ask", { id: "a" }, { signal: AbortSignal.timeout(50) });
    expect(await call).toMatchObject({ status: "CANCELLED", errorCode: "SKILL_CANCELLED" });
    const open = kit.executor.execute("ask", { id: "a" });
    await asked.promise;
    await kit.close({ graceMs: 20 });
    expect(await open).toMatchObject({ status: "CANCELLED", errorCode: "SHUTTING_DOWN" });
  });
});

describe("a half open circuit", () => {
  const halfOpen = async () => {
    const kit = openTestKit();
    const [probing, probe] = [gate(), gate<unknown>()];
    let fails = true;
    kit.define({
      name: "fragile",
      schema: anything,
      breaker: { failures: 1, halfOpenAfterMs: 20 },
      handler: () => {
        if (fails) throw new Error("down");
        probing.open();
        return probe.promise;
      },
    });
    await kit.executor.execute("fragile", {});
    await new Promise((resolve) => setTimeout(resolve, 30));
    fails = false;
    return { kit, probing, probe };
  };

  test("refuses other calls while its probe runs, and lets them through when that succeeded", async () => {
    const { kit, probing, probe } = await halfOpen();
    const first = kit.executor.execute("fragile", {});
    await probing.promise;
    await expect(kit.executor.execute("fragile", {}, { timeoutMs: 60_000 })).rejects.toMatchObject({ code: "CIRCUIT_OPEN" });
    probe.open("fine");
    expect(await first).toMatchObject({ status: "SUCCESS" });
    expect(await kit.executor.execute("fragile", {})).toMatchObject({ status: "SUCCESS" });
  });

  test("is not closed by a probe that was refused before its handler ran", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const limits = new SkillLimits();
    const breaker = { failures: 1, halfOpenAfterMs: 10 };
    const skill = { id: "1", contentHash: "1", name: "fragile", version: "1.0.0", breaker } as Skill;
    await limits.guard(skill, () => Promise.resolve(toFailure(new Error("down"))));
    vi.setSystemTime(Date.now() + 20);
    const refusal = new SkillError("STORE_UNAVAILABLE", "locked");
    await expect(limits.guard(skill, () => Promise.reject(refusal))).rejects.toBe(refusal);
    const work = () => Promise.reject(new Error("must not run"));
    await expect(limits.guard(skill, work)).rejects.toMatchObject({ code: "CIRCUIT_OPEN" });
  });
});

test("a call that is cancelled between two attempts runs no further one", async () => {
  const kit = openTestKit();
  const caller = new AbortController();
  let runs = 0;
  const abortSecondTime = () => {
    if (runs > 0) caller.abort();
    return true;
  };
  kit.define({
    name: "flaky",
    schema: z.object({ id: z.string().refine(async () => abortSecondTime()) }),
    retry: { limit: 3, backoffMs: 1 },
    handler: () => {
      runs++;
      throw new Error("again");
    },
  });
  expect(await kit.executor.execute("flaky", { id: "a" }, { signal: caller.signal })).toMatchObject({ status: "CANCELLED" });
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(runs).toBe(1);
});
