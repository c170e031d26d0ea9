import { context, type Span, SpanStatusCode, trace } from "@opentelemetry/api";
import { isSkillError } from "../errors.js";
import type { SandboxResult } from "../types.js";
import type { Tracing } from "./tracing.js";

/**
 * Does the work of one container in a span `sandbox.run` under the active span. `container.*`, `process.exit.code` and `error.type` are of the
 * semantic conventions. Command, environment, input and output are left out: they may hold secrets.
 */
export async function traceContainer<T>(
  tracing: Tracing,
  image: string,
  work: () => Promise<T>,
  resultOf: (value: T) => SandboxResult,
): Promise<T> {
  const tracer = tracing.tracer();
  if (tracer === undefined) return work();
  const span = tracer.startSpan("sandbox.run", { attributes: imageAttributes(image) });
  try {
    const value = await context.with(trace.setSpan(context.active(), span), work);
    describeResult(span, resultOf(value));
    return value;
  } catch (error) {
    fail(span, isSkillError(error) ? error.code : "_OTHER");
    throw error;
  } finally {
    span.end();
  }
}

/** The convention keeps the tag apart from the name; a port before the first slash is no tag. */
function imageAttributes(image: string): Record<string, string | string[]> {
  const [name = ""] = String(image).split("@");
  const colon = name.indexOf(":", name.lastIndexOf("/") + 1);
  if (colon < 0) return { "container.image.name": name };
  return { "container.image.name": name.slice(0, colon), "container.image.tags": [name.slice(colon + 1)] };
}

function describeResult(span: Span, result: SandboxResult): void {
  span.setAttributes({
    "container.name": result.id,
    "container.runtime.name": result.runtime,
    "sandbox.served_from": result.servedFrom,
  });
  if (result.exitCode !== null) span.setAttribute("process.exit.code", result.exitCode);
  if (result.startupMs !== null) span.setAttribute("sandbox.startup_ms", result.startupMs);
  const failure = failureOf(result);
  if (failure !== null) fail(span, failure);
}

function failureOf(result: SandboxResult): string | null {
  if (result.timedOut) return "timeout";
  if (result.aborted) return "aborted";
  // After the other two, only a stream that was longer than allowed makes us end a program.
  if (result.killed) return "output_limit";
  if (result.oomKilled) return "out_of_memory";
  if (result.signal !== null) return result.signal;
  return result.exitCode === 0 || result.exitCode === null ? null : "exit_code";
}

function fail(span: Span, errorType: string): void {
  span.setAttribute("error.type", errorType).setStatus({ code: SpanStatusCode.ERROR });
}
