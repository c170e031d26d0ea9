import { trace } from "@opentelemetry/api";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { afterAll, expect, test } from "vitest";
import { onEachEngine, shellImage } from "../../engines/engines.js";

const exporter = new InMemorySpanExporter();
const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
trace.setGlobalTracerProvider(provider);
afterAll(() => {
  trace.disable();
  return provider.shutdown();
});

onEachEngine("the span of a container", (engine) => {
  test("tells which engine ran which image, and how the program ended", async () => {
    exporter.reset();
    const result = await engine.sandbox().run(shellImage, ["sh", "-c", "exit 3"]);
    const [span] = exporter.getFinishedSpans();
    expect(span?.name).toBe("sandbox.run");
    expect(span?.attributes).toMatchObject({
      "container.name": result.id,
      "container.runtime.name": engine.name,
      "process.exit.code": 3,
      "error.type": "exit_code",
    });
  });
});
