import { trace } from "@opentelemetry/api";
import { BasicTracerProvider } from "@opentelemetry/sdk-trace-base";
import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { createCallTelemetry } from "../../../lib/telemetry/call-telemetry.js";
import { createMetrics } from "../../../lib/telemetry/metrics.js";

test("without an SDK and without metrics nothing is made for a call; an SDK that comes later is found", async () => {
  const telemetry = createCallTelemetry(undefined);
  expect(telemetry.watch("1")).toBeUndefined();
  const provider = new BasicTracerProvider();
  trace.setGlobalTracerProvider(provider);
  expect(telemetry.watch("2")).toBeDefined();
  trace.disable();
  await provider.shutdown();
});

test("with metrics alone a call is watched", () => {
  const rooms = { audit: () => undefined, sandbox: () => undefined };
  expect(createCallTelemetry(createMetrics({ registry: new Registry(), maxSkills: 1 }, rooms)).watch("1")).toBeDefined();
});
