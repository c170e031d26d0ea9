import { context, SpanStatusCode, type Tracer, trace } from "@opentelemetry/api";
import type { CallEnd } from "./call-watch.js";

export interface CallSpan {
  within<T>(work: () => T): T;
  end(end: CallEnd): void;
}

/**
 * Starts the span `skill.execute` under the active span. `error.type` is of the semantic conventions; the others have no convention. The
 * status has no message: the text of an error is internal.
 */
export function startCallSpan(tracer: Tracer, executionId: string): CallSpan {
  const span = tracer.startSpan("skill.execute", { attributes: { "skill.execution.id": executionId } });
  return {
    within: (work) => context.with(trace.setSpan(context.active(), span), work),
    end({ skill, outcome, errorType, attempts, isReplay }) {
      if (skill !== undefined) span.setAttributes({ "skill.name": skill.name, "skill.version": skill.version });
      span.setAttributes({ "skill.outcome": outcome, "skill.attempts": attempts });
      if (isReplay) span.setAttribute("skill.replayed", true);
      if (errorType !== null) span.setAttribute("error.type", errorType).setStatus({ code: SpanStatusCode.ERROR });
      span.end();
    },
  };
}
