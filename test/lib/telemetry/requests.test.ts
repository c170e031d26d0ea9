import { context, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import express from "express";
import supertest from "supertest";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { respond, skill, skills } from "../../../middleware/index.js";
import { type LogLine, recordingLogger } from "../../fixtures/kit.js";

const exporter = new InMemorySpanExporter();
const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
trace.setGlobalTracerProvider(provider);
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
afterAll(() => {
  trace.disable();
  context.disable();
  return provider.shutdown();
});

test("the span of a step is a child of its request's, and what its handler logs names the execution and the request", async () => {
  const logged: LogLine[] = [];
  const kit = skills({ database: ":memory:", logger: recordingLogger(logged) });
  onTestFinished(() => kit.close());
  const work = kit.define({
    name: "work",
    schema: { type: "object" },
    handler: (_, call) => {
      call.log("half done", { rows: 7 });
      call.progress(0.5);
      return {};
    },
  });
  const request = provider.getTracer("http").startSpan("request");
  const app = express();
  app.use((_req, _res, next) => context.with(trace.setSpan(context.active(), request), next));
  app.use(express.json(), kit);
  app.post("/", skill(work), respond());
  const answer = await supertest(app).post("/").set("X-Request-Id", "from-proxy").send({ password: "hunter2" });
  expect(answer.status).toBe(200);
  const call = exporter.getFinishedSpans().find(({ name }) => name === "skill.execute");
  expect(call?.parentSpanContext?.spanId).toBe(request.spanContext().spanId);
  const names = { executionId: call?.attributes["skill.execution.id"], requestId: "from-proxy", skill: "work@1.0.0" };
  expect(logged).toContainEqual({ level: "info", message: "half done", fields: expect.objectContaining({ ...names, rows: 7 }) });
  expect(logged).toContainEqual({ level: "debug", message: "progress", fields: expect.objectContaining(names) });
  expect(JSON.stringify(logged)).not.toContain("hunter2");
});
