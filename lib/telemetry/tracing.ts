import { type Tracer, type TracerProvider, trace } from "@opentelemetry/api";

/** Finds the tracer of the application's OpenTelemetry SDK. */
export interface Tracing {
  /** `undefined` while no SDK is registered: then nothing is made for a span, not even its attributes. */
  tracer(): Tracer | undefined;
}

/** The name under which spans are made: their instrumentation scope. */
const SCOPE = "express-skills";

/** An SDK may be registered at any time; once found it is kept, as the API's own proxies do. */
export function createTracing(): Tracing {
  let found: Tracer | undefined;
  return {
    tracer() {
      found ??= findTracer();
      return found;
    },
  };
}

/** The API's provider is a proxy that alone can say whether an SDK stands behind it; another provider is an SDK's own. */
function findTracer(): Tracer | undefined {
  const provider: TracerProvider & { getDelegateTracer?: (name: string) => Tracer | undefined } = trace.getTracerProvider();
  return provider.getDelegateTracer === undefined ? provider.getTracer(SCOPE) : provider.getDelegateTracer(SCOPE);
}
