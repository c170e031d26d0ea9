import { Counter, type Metric, type OpenMetricsContentType, Registry } from "prom-client";
import { describe, expect, test } from "vitest";
import { createMetrics } from "../../../lib/telemetry/metrics.js";
import type { SandboxFigures } from "../../../lib/telemetry/sources.js";
import { gate, openTestKit, until } from "../../fixtures/kit.js";
import { lockDatabase } from "../../fixtures/lock.js";

const schema = { type: "object" } as const;

describe("metrics", () => {
  test("count calls by skill and outcome, with the time that they took", async () => {
    const registry = new Registry();
    const kit = openTestKit({ metrics: { registry } });
    kit.define({ name: "@tools/work", schema, handler: ({ fail }) => (fail === true ? Promise.reject(new Error("no")) : {}) });
    await kit.executor.execute("@tools/work", {});
    await kit.executor.execute("@tools/work", {});
    await kit.executor.execute("@tools/work", { fail: true });
    await expect(kit.executor.execute("@tools/work", 7)).rejects.toMatchObject({ code: "INVALID_INPUT" });
    const text = await registry.metrics();
    expect(text).toContain('skill_executions_total{skill="@tools/work",outcome="SUCCESS"} 2');
    expect(text).toContain('skill_executions_total{skill="@tools/work",outcome="ERROR"} 1');
    expect(text).toContain('skill_executions_total{skill="@tools/work",outcome="DENIED"} 1');
    expect(text).toContain('skill_execution_duration_seconds_count{skill="@tools/work"} 3');
  });

  test("count an answer that is replayed once", async () => {
    const registry = new Registry();
    const kit = openTestKit({ metrics: { registry } });
    kit.define({ name: "once", schema, handler: () => ({}) });
    await kit.executor.run("once", {}, { idempotencyKey: "k" });
    await kit.executor.run("once", {}, { idempotencyKey: "k" });
    expect(await registry.metrics()).toContain('skill_executions_total{skill="once",outcome="SUCCESS"} 1\n');
  });

  test("have no label that callers or registrants can make without end", async () => {
    const registry = new Registry();
    const kit = openTestKit({ metrics: { registry, maxSkills: 2 } });
    for (let n = 0; n < 20; n++) {
      kit.define({ name: `skill${n}`, schema, handler: () => ({}) });
      await kit.executor.run(`skill${n}`, {});
      await expect(kit.executor.run(`missing${n}`, {})).rejects.toMatchObject({ code: "SKILL_NOT_FOUND" });
    }
    const { values } = await (registry.getSingleMetric("skill_executions_total") as Metric & Counter).get();
    expect(values.map(({ labels, value }) => [labels["skill"], value]).sort()).toEqual([
      ["_other", 18],
      ["_unknown", 20],
      ["skill0", 1],
      ["skill1", 1],
    ]);
  });

  test("show what runs and what waits for a place", async () => {
    const registry = new Registry();
    const kit = openTestKit({ metrics: { registry } });
    const { promise, open } = gate();
    kit.define({ name: "narrow", schema, concurrency: { limit: 1, queue: 5 }, handler: () => promise.then(() => ({})) });
    const calls = [1, 2, 3].map(() => kit.executor.execute("narrow", {}));
    await until(async () => (await registry.metrics()).includes("skill_executions_queued 2\n"));
    expect(await registry.metrics()).toContain("skill_executions_running 1\n");
    open();
    await Promise.all(calls);
    expect(await registry.metrics()).toContain("skill_executions_running 0\n");
    expect(await registry.metrics()).toContain("skill_executions_queued 0\n");
  });

  test("no longer count as queued what is cancelled while it waits", async () => {
    const registry = new Registry();
    const kit = openTestKit({ metrics: { registry } });
    const { promise, open } = gate();
    kit.define({ name: "narrow", schema, concurrency: { limit: 1, queue: 5 }, handler: () => promise.then(() => ({})) });
    const first = kit.executor.execute("narrow", {});
    expect((await kit.executor.execute("narrow", {}, { timeoutMs: 30 })).status).toBe("TIMEOUT");
    open();
    await first;
    const text = await registry.metrics();
    expect(text).toContain("skill_executions_queued 0\n");
    expect(text).toContain("skill_executions_running 0\n");
  });

  test("show how far the audit lags while the database is locked", async () => {
    const registry = new Registry();
    const kit = openTestKit({ metrics: { registry } });
    kit.define({ name: "work", schema, handler: () => ({}) });
    await kit.executor.run("work", {});
    const lock = await lockDatabase(kit.file);
    const call = kit.executor.run("work", {});
    await until(async () => Number(/^skill_audit_lag_seconds (.+)$/m.exec(await registry.metrics())?.[1]) > 0.05);
    expect(await registry.metrics()).toContain("skill_audit_waiting 1\n");
    await lock.release();
    await call;
    expect(await registry.metrics()).toContain("skill_audit_lag_seconds 0\n");
  });

  test("of two kits on one registry are added up, and totals do not fall when a kit closes", async () => {
    const registry = new Registry();
    const kits = [openTestKit({ metrics: { registry } }), openTestKit({ metrics: { registry } })];
    for (const kit of kits) {
      kit.define({ name: "work", schema, handler: () => ({}) });
      await kit.executor.run("work", {});
    }
    expect(await registry.metrics()).toContain('skill_executions_total{skill="work",outcome="SUCCESS"} 2\n');
    await kits[0]?.close();
    expect(await registry.metrics()).toContain('skill_executions_total{skill="work",outcome="SUCCESS"} 2\n');
    const third = openTestKit({ metrics: { registry } });
    third.define({ name: "work", schema, handler: () => ({}) });
    await third.executor.run("work", {});
    expect(await registry.metrics()).toContain('skill_executions_total{skill="work",outcome="SUCCESS"} 3\n');
  });

  test("of a sandbox show its slots, and keep its hits and misses when the kit closes", async () => {
    const registry = new Registry();
    const sandbox: SandboxFigures = {
      running: 2,
      queued: 1,
      removing: 3,
      slots: { waiting: 4, starting: 5, hits: 6, misses: { first: 7, taken: 8 } },
    };
    const rooms = { audit: () => ({ waiting: 0, lost: 9, lagMs: 0 }), sandbox: () => sandbox };
    const metrics = createMetrics({ registry, maxSkills: 1 }, rooms);
    createMetrics({ registry, maxSkills: 1 }, rooms);
    const open = await registry.metrics();
    expect(open).toContain('skill_sandbox_slots{state="waiting"} 8\n');
    expect(open).toContain('skill_sandbox_containers{state="removing"} 6\n');
    metrics.close();
    metrics.close();
    const closed = await registry.metrics();
    expect(closed).toContain('skill_sandbox_slots{state="waiting"} 4\n');
    for (const text of [open, closed]) {
      expect(text).toContain("skill_sandbox_slot_hits_total 12\n");
      expect(text).toContain('skill_sandbox_slot_misses_total{reason="taken"} 16\n');
      expect(text).toContain("skill_audit_lost_total 18\n");
    }
  });

  test("can be read as OpenMetrics", async () => {
    const registry = new Registry<OpenMetricsContentType>();
    registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
    const kit = openTestKit({ metrics: { registry } });
    kit.define({ name: "work", schema, handler: () => ({}) });
    await kit.executor.run("work", {});
    expect(await registry.metrics()).toContain('skill_executions_total{skill="work",outcome="SUCCESS"} 1\n');
    expect(() => openTestKit({ metrics: { registry } })).not.toThrow();
  });

  test("are refused when another's metric has the name", () => {
    const registry = new Registry();
    new Counter({ name: "skill_executions_total", help: "the application's own", registers: [registry] });
    expect(() => openTestKit({ metrics: { registry } })).toThrow(expect.objectContaining({ code: "INVALID_OPTION" }));
  });

  test.each([
    [{ registry: {} }, "registry of prom-client"],
    [{ registry: new Registry(), maxSkills: -1 }, "maxSkills"],
    [{ register: new Registry() }, 'did you mean "registry"'],
    ["registry", "metrics must be an object"],
  ])("are refused with options that are not valid: %s", (metrics, message) => {
    expect(() => openTestKit({ metrics: metrics as never })).toThrow(
      expect.objectContaining({ code: "INVALID_OPTION", message: expect.stringContaining(message) }),
    );
  });
});
