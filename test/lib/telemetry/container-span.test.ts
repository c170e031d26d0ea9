import { context, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { Registry } from "prom-client";
import { afterAll, expect, test } from "vitest";
import { openEngineKit } from "../../engines/engine-kit.js";
import { eventually, onEachEngine, shellImage } from "../../engines/engines.js";

const exporter = new InMemorySpanExporter();
const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
trace.setGlobalTracerProvider(provider);
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
afterAll(() => {
  trace.disable();
  context.disable();
  return provider.shutdown();
});

onEachEngine("the span of a container", (engine) => {
  test("tells which engine ran which image, and how the program ended", async () => {
    exporter.reset();
    const result = await engine.shared.run(shellImage, ["sh", "-c", "exit 3"]);
    const [span] = exporter.getFinishedSpans();
    expect(span?.name).toBe("sandbox.run");
    expect(span?.attributes).toMatchObject({
      "container.name": result.id,
      "container.runtime.name": engine.name,
      "process.exit.code": 3,
      "error.type": "exit_code",
    });
  });

  test("of a container skill is a child of its call, and nothing that went in or came out is in spans or metrics", {
    timeout: 120_000,
  }, async () => {
    exporter.reset();
    const registry = new Registry();
    const kit = openEngineKit(engine, {}, { metrics: { registry } });
    kit.define({
      name: "secretive",
      schema: { type: "object" },
      container: { image: shellImage, command: ["sh", "-c", "echo hunter2 >&2; cat"], env: { A: "hunter2" }, warm: 1 },
    });
    await kit.ready();
    expect(await eventually(() => kit.sandbox.stats()?.slots.waiting === 1)).toBe(true);
    expect(await registry.metrics()).toContain('skill_sandbox_slots{state="waiting"} 1\n');
    await kit.executor.run("secretive", { word: "hunter2" });
    const spans = exporter.getFinishedSpans();
    const [container, call] = spans;
    expect(spans.map(({ name }) => name)).toEqual(["sandbox.run", "skill.execute"]);
    expect(container?.parentSpanContext?.spanId).toBe(call?.spanContext().spanId);
    expect(container?.attributes).toMatchObject({ "sandbox.served_from": "warm", "sandbox.startup_ms": 0 });
    const metrics = await registry.metrics();
    expect(metrics).toContain("skill_sandbox_slot_hits_total 1\n");
    expect(metrics).toContain('skill_sandbox_slot_misses_total{reason="first"} 0\n');
    const told = spans.map(({ attributes, events, status }) => ({ attributes, events, status }));
    expect(JSON.stringify(told) + metrics).not.toContain("hunter2");
  });
});
