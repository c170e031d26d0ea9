import { context, SpanStatusCode, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { BasicTracerProvider, InMemorySpanExporter, type ReadableSpan, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { SkillError } from "../../../lib/index.js";
import { traceContainer } from "../../../lib/telemetry/sandbox-span.js";
import { createTracing } from "../../../lib/telemetry/tracing.js";
import type { SandboxResult } from "../../../lib/types.js";
import { openTestKit } from "../../fixtures/kit.js";

const exporter = new InMemorySpanExporter();
const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
const schema = { type: "object" } as const;
const secret = "postgres://root:hunter2@db";

beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  trace.setGlobalTracerProvider(provider);
});
beforeEach(() => exporter.reset());
afterAll(async () => {
  trace.disable();
  context.disable();
  await provider.shutdown();
});

describe("skill.execute", () => {
  test("is a child of the active span, and says which skill ran and how it ended", async () => {
    const kit = openTestKit();
    kit.define({ name: "work", version: "1.2.0", schema, handler: () => ({}) });
    const outer = provider.getTracer("test").startSpan("request");
    const execution = await context.with(trace.setSpan(context.active(), outer), () => kit.executor.execute("work@^1", {}));
    const span = onlySpan("skill.execute");
    expect(span.parentSpanContext?.spanId).toBe(outer.spanContext().spanId);
    expect(span.attributes).toEqual({
      "skill.execution.id": execution.id,
      "skill.name": "work",
      "skill.version": "1.2.0",
      "skill.outcome": "SUCCESS",
      "skill.attempts": 1,
    });
    expect(span.status.code).toBe(SpanStatusCode.UNSET);
  });

  test("has the spans of nested calls, and those that its handler makes, as children", async () => {
    const kit = openTestKit();
    kit.define({ name: "inner", schema, handler: () => ({}) });
    kit.define({
      name: "outer",
      schema,
      handler: async (_, call) => {
        await new Promise((resolve) => setImmediate(resolve));
        trace.getTracer("handler").startSpan("query").end();
        return call.run("inner", {});
      },
    });
    await kit.executor.run("outer", {});
    const outer = spans().find((span) => span.attributes["skill.name"] === "outer");
    const inner = spans().find((span) => span.attributes["skill.name"] === "inner");
    expect(inner?.parentSpanContext?.spanId).toBe(outer?.spanContext().spanId);
    expect(onlySpan("query").parentSpanContext?.spanId).toBe(outer?.spanContext().spanId);
  });

  test("gives the code of a failure, and nothing of its text, its input or its output", async () => {
    const kit = openTestKit();
    kit.define({
      name: "fails",
      schema,
      retry: { limit: 1, backoffMs: 1 },
      handler: () => {
        throw new Error(`cannot reach ${secret}`);
      },
    });
    const call = { apiKeyId: `key ${secret}`, sessionId: `session ${secret}` };
    await kit.executor.execute("fails", { password: secret }, call);
    const span = onlySpan("skill.execute");
    expect(span.attributes).toMatchObject({ "skill.outcome": "ERROR", "error.type": "SKILL_FAILED", "skill.attempts": 2 });
    expect(span.status).toEqual({ code: SpanStatusCode.ERROR });
    expect(JSON.stringify([span.attributes, span.events, span.status, span.name])).not.toContain("hunter2");
  });

  test.each([
    ["a skill that does not exist", "missing@^3", {}, "SKILL_NOT_FOUND", "missing"],
    ["a reference that cannot be read", "@@", {}, "INVALID_REFERENCE", undefined],
    ["an input that is not valid", "strict", { secret }, "INVALID_INPUT", "strict"],
  ])("tells of a call that is refused for %s", async (_, reference, input, code, name) => {
    const kit = openTestKit();
    kit.define({ name: "strict", schema: { type: "object", required: ["n"] }, handler: () => ({}) });
    await expect(kit.executor.execute(reference, input)).rejects.toMatchObject({ code });
    const span = onlySpan("skill.execute");
    expect(span.attributes).toMatchObject({ "skill.outcome": "DENIED", "error.type": code, "skill.attempts": 0 });
    expect(span.attributes["skill.name"]).toBe(name);
    expect(JSON.stringify(span.attributes)).not.toContain("hunter2");
  });

  test("marks the answer of an earlier call with the same idempotency key", async () => {
    const kit = openTestKit();
    kit.define({ name: "once", schema, handler: () => ({ n: 1 }) });
    await kit.executor.run("once", {}, { idempotencyKey: "k" });
    exporter.reset();
    await kit.executor.run("once", {}, { idempotencyKey: "k" });
    expect(onlySpan("skill.execute").attributes).toMatchObject({ "skill.outcome": "SUCCESS", "skill.replayed": true });
  });

  test("ends when the call is cancelled", async () => {
    const kit = openTestKit();
    kit.define({ name: "slow", schema, handler: () => new Promise(() => {}) });
    await kit.executor.execute("slow", {}, { timeoutMs: 20 });
    expect(onlySpan("skill.execute").attributes).toMatchObject({ "skill.outcome": "TIMEOUT", "error.type": "SKILL_TIMEOUT" });
  });
});

describe("sandbox.run", () => {
  const result: SandboxResult = {
    id: "express-skills-1",
    runtime: "podman",
    image: "registry.local:5000/tools/shell:1.2",
    exitCode: 0,
    signal: null,
    stdout: secret,
    stderr: secret,
    stdoutTruncated: false,
    stderrTruncated: false,
    durationMs: 3,
    startupMs: 200,
    killed: false,
    timedOut: false,
    aborted: false,
    oomKilled: false,
    servedFrom: "warm",
    warnings: [secret],
  };
  const run = (ended: Partial<SandboxResult>) =>
    traceContainer(
      createTracing(),
      result.image,
      async () => ({ ...result, ...ended }),
      (same) => same,
    );

  test("describes the container by the semantic conventions, without what went in or came out", async () => {
    await run({});
    const span = onlySpan("sandbox.run");
    expect(span.attributes).toEqual({
      "container.image.name": "registry.local:5000/tools/shell",
      "container.image.tags": ["1.2"],
      "container.name": "express-skills-1",
      "container.runtime.name": "podman",
      "process.exit.code": 0,
      "sandbox.served_from": "warm",
      "sandbox.startup_ms": 200,
    });
  });

  test.each([
    ["timeout", { timedOut: true, killed: true, exitCode: null }],
    ["aborted", { aborted: true, killed: true, exitCode: null }],
    ["output_limit", { killed: true, exitCode: null }],
    ["out_of_memory", { oomKilled: true, exitCode: 137 }],
    ["SIGSEGV", { signal: "SIGSEGV", exitCode: null }],
    ["exit_code", { exitCode: 3 }],
  ])("says that it ended by %s", async (errorType, ended) => {
    await run(ended);
    const span = onlySpan("sandbox.run");
    expect(span.attributes["error.type"]).toBe(errorType);
    expect(span.status).toEqual({ code: SpanStatusCode.ERROR });
  });

  test("gives the code of an error, and passes the error on", async () => {
    const failure = new SkillError("SANDBOX_UNAVAILABLE", secret);
    const failing = traceContainer(
      createTracing(),
      `shell@sha256:${"a".repeat(64)}`,
      () => Promise.reject(failure),
      () => result,
    );
    await expect(failing).rejects.toBe(failure);
    const span = onlySpan("sandbox.run");
    expect(span.attributes).toEqual({ "container.image.name": "shell", "error.type": "SANDBOX_UNAVAILABLE" });
  });
});

function spans(): ReadableSpan[] {
  return exporter.getFinishedSpans();
}

function onlySpan(name: string): ReadableSpan {
  const [span, ...others] = spans().filter((finished) => finished.name === name);
  expect(others).toEqual([]);
  if (span === undefined) throw new Error(`there is no span ${name}`);
  return span;
}
