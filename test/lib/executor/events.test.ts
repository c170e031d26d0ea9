import { describe, expect, test } from "vitest";
import { ExecutionEvents } from "../../../lib/executor/events.js";
import type { ExecutionTree } from "../../../lib/executor/history.js";
import type { SkillExecution } from "../../../lib/types.js";
import { openTestKit } from "../../fixtures/kit.js";

const execution = { id: "a", status: "RUNNING" } as SkillExecution<unknown>;

function watcher() {
  const seen: unknown[] = [];
  return {
    seen,
    onStatus: ({ value }: { readonly value: SkillExecution<unknown> }) => seen.push(value.status),
    onTrace: () => seen.push("trace"),
    onClose: () => seen.push("close"),
  };
}

describe("events of executions", () => {
  test("reach who watches that execution, and who watches all, until they stop", () => {
    const events = new ExecutionEvents();
    const [one, all] = [watcher(), watcher()];
    const unwatch = events.watch("a", one);
    const unwatchAll = events.watchAll(all);
    events.status("a", () => execution);
    events.status("b", () => ({ ...execution, id: "b" }));
    events.progress("a", 1, 0.5, "half");
    events.close();
    unwatch();
    unwatchAll();
    events.status("a", () => execution);
    expect(one.seen).toEqual(["RUNNING", "trace", "close"]);
    expect(all.seen).toEqual(["RUNNING", "RUNNING", "close"]);
  });

  test("are not even rendered when nobody watches", () => {
    const events = new ExecutionEvents();
    events.status("a", () => {
      throw new Error("rendered");
    });
    expect(events.number).toBe(0);
  });

  test("keep the last progress and the last 100 lines, in the order they came", () => {
    const events = new ExecutionEvents();
    for (let n = 1; n <= 150; n++) {
      events.log("a", 1, `line ${n}`, n === 150 ? { n } : undefined);
      events.progress("a", 1, n / 150, undefined);
    }
    const trace = events.trace("a");
    expect(trace?.progress?.value).toMatchObject({ fraction: 1, message: null });
    expect(trace?.forgotten).toBe(50);
    expect(trace?.lines.map(({ value }) => value.text)).toEqual(Array.from({ length: 100 }, (_, n) => `line ${n + 51}`));
    expect(trace?.lines.at(-1)?.value.fields).toEqual({ n: 150 });
    const numbers = trace?.lines.map(({ number }) => number) ?? [];
    expect(numbers).toEqual([...numbers].sort((x, y) => x - y));
  });

  test("keep no more of one execution, and of all of them, than fits", () => {
    const events = new ExecutionEvents();
    for (let n = 0; n < 100; n++) events.log("a", 1, "x".repeat(1_000_000), undefined);
    const kept = events.trace("a")?.lines ?? [];
    expect(kept.reduce((sum, { value }) => sum + value.text.length, 0)).toBeLessThan(40_000);
    for (let n = 0; n < 5_000; n++) for (let line = 0; line < 10; line++) events.stderr(`id-${n}`, "y".repeat(4_000));
    expect(events.trace("a")).toBeUndefined();
    expect(events.trace("id-0")).toBeUndefined();
    expect(events.trace("id-4999")?.lines.at(-1)?.value).toMatchObject({ kind: "stderr", fields: null, attempt: null });
  });

  test("take fields and messages of any kind, and keep secrets out", () => {
    const events = new ExecutionEvents();
    const circle: Record<string, unknown> = {};
    circle["self"] = circle;
    const thrower = {
      get text() {
        throw new Error("no");
      },
    };
    for (const fields of [circle, thrower, { big: 1n }, { token: "t" }, { long: "z".repeat(10_000) }, () => {}])
      events.log("a", 1, undefined as unknown as string, fields);
    const kept = events.trace("a")?.lines.map(({ value }) => value.fields);
    expect(kept?.slice(0, 4)).toEqual([null, null, null, { token: "[redacted]" }]);
    expect(JSON.stringify(kept?.[4]).length).toBeLessThan(4_200);
    expect(kept?.[5]).toBeNull();
  });
});

describe("a started call", () => {
  const schema = { type: "object", properties: { n: { type: "integer" } } } as const;

  test("gives its id while it runs, and its execution when it has ended", async () => {
    const kit = openTestKit();
    let finish = () => {};
    kit.define({ name: "slow", schema, handler: () => new Promise<null>((resolve) => (finish = () => resolve(null))) });
    const { id, isReplay, ended } = await kit.executor.start("slow", {});
    expect([isReplay, kit.executor.isRunning(id)]).toEqual([false, true]);
    expect((await kit.executor.getExecution(id))?.status).toBe("RUNNING");
    finish();
    expect(await ended).toMatchObject({ id, status: "SUCCESS" });
    expect(kit.executor.isRunning(id)).toBe(false);
  });

  test.each([undefined, "k"])(
    "is found by another process as soon as it says that it is stored; idempotency key: %s",
    async (idempotencyKey) => {
      const kit = openTestKit();
      const other = openTestKit({ database: kit.file });
      await other.ready();
      let finish = () => {};
      kit.define({ name: "slow", schema, handler: () => new Promise<null>((resolve) => (finish = () => resolve(null))) });
      const { id, ended, stored } = await kit.executor.start("slow", {}, { idempotencyKey });
      await stored();
      expect(await other.executor.getExecution(id)).toMatchObject({ status: "RUNNING" });
      finish();
      await ended;
      await stored();
    },
  );

  test("says that it is stored without waiting for one of its skill's places", async () => {
    const kit = openTestKit();
    let finish = () => {};
    const handler = () => new Promise<null>((resolve) => (finish = () => resolve(null)));
    kit.define({ name: "narrow", schema, handler, concurrency: { limit: 1, queue: 1 } });
    const [first, second] = [await kit.executor.start("narrow", {}), await kit.executor.start("narrow", {})];
    await second.stored();
    expect((await kit.executor.getExecution(second.id))?.status).toBe("QUEUED");
    finish();
    await first.ended;
    await second.stored();
    finish();
    await second.ended;
  });

  test("is refused as execute() refuses, without an unhandled rejection", async () => {
    const kit = openTestKit();
    kit.define({ name: "slow", schema, handler: () => null });
    await expect(kit.executor.start("slow", { n: "one" })).rejects.toMatchObject({ code: "INVALID_INPUT" });
    await expect(kit.executor.start("missing", {})).rejects.toMatchObject({ code: "SKILL_NOT_FOUND" });
  });

  test("says when it is the answer to an earlier one", async () => {
    const kit = openTestKit();
    kit.define({ name: "quick", schema, handler: () => null });
    const call = { idempotencyKey: "k" };
    const first = await kit.executor.start("quick", {}, call);
    await first.ended;
    const second = await kit.executor.start("quick", {}, call);
    expect([second.id, second.isReplay]).toEqual([first.id, true]);
  });
});

test("a tree has the calls of handlers, and of theirs", async () => {
  const kit = openTestKit();
  const schema = { type: "object" } as const;
  kit.define({ name: "leaf", schema, handler: () => null });
  kit.define({ name: "branch", schema, handler: async (_input, { run }) => [await run("leaf", {}), await run("leaf", {})] });
  kit.define({ name: "trunk", schema, handler: async (_input, { run }) => [await run("branch", {}), await run("leaf", {})] });
  const { id } = await kit.executor.execute("trunk", {});
  const names = ({ execution, children }: ExecutionTree): unknown[] => [execution.skillName, ...children.map(names)];
  const tree = await kit.executor.getExecutionTree(id);
  if (tree === undefined) throw new Error("There is no tree.");
  expect(names(tree)).toEqual(["trunk", ["branch", ["leaf"], ["leaf"]], ["leaf"]]);
  expect(tree.isCut).toBe(false);
  expect(await kit.executor.getExecutionTree("missing")).toBeUndefined();
});
