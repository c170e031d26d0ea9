import { type CallSpan, startCallSpan } from "./call-span.js";
import type { CallTelemetry, CallWatch } from "./call-watch.js";
import type { KitMetrics } from "./metrics.js";
import { createTracing } from "./tracing.js";

/** Watches calls for an OpenTelemetry SDK when there is one, and for metrics when they are asked for. */
export function createCallTelemetry(metrics: KitMetrics | undefined): CallTelemetry {
  const tracing = createTracing();
  return {
    watch(executionId) {
      const tracer = tracing.tracer();
      if (tracer === undefined && metrics === undefined) return undefined;
      return watchCall(tracer && startCallSpan(tracer, executionId), metrics);
    },
  };
}

function watchCall(span: CallSpan | undefined, metrics: KitMetrics | undefined): CallWatch {
  metrics?.calls.begin();
  return {
    queue: () => metrics?.calls.queue(),
    leaveQueue: () => metrics?.calls.leaveQueue(),
    within: (work) => (span === undefined ? work() : span.within(work)),
    end(end) {
      metrics?.calls.end(end);
      span?.end(end);
    },
  };
}
