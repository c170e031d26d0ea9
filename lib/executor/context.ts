import { SkillError } from "../errors.js";
import type { HandlerContext, Logger, SandboxRunner } from "../types.js";
import type { ExecutionEvents } from "./events.js";
import type { RunningCall } from "./running.js";

/** What a handler may call: the executor of its kit. */
export type NestedCalls = Pick<HandlerContext, "run" | "execute">;

/** Makes the context of one attempt. */
export function createContext(
  call: RunningCall,
  skill: { readonly name: string; readonly version: string },
  attempt: number,
  nested: NestedCalls,
  logger: Logger,
  sandbox: SandboxRunner,
  events: ExecutionEvents,
): HandlerContext {
  const { executionId, apiKeyId, sessionId, requestId, deadline } = call;
  const fields = () => ({ executionId, requestId, skill: `${skill.name}@${skill.version}`, attempt });
  return {
    executionId,
    skill: { name: skill.name, version: skill.version },
    apiKeyId,
    sessionId,
    requestId,
    attempt,
    deadline: Date.now() + Math.round(deadline.endsAtMs - performance.now()),
    get signal() {
      return deadline.signal;
    },
    run: nested.run,
    execute: nested.execute,
    sandbox,
    progress(fraction, message) {
      if (typeof fraction !== "number" || !(fraction >= 0 && fraction <= 1))
        throw new SkillError("INVALID_OPTION", `context.progress() takes a fraction from 0 to 1, got ${String(fraction)}.`);
      events.progress(executionId, attempt, fraction, message);
      logger.debug({ ...fields(), fraction }, message ?? "progress");
    },
    log(message, more) {
      events.log(executionId, attempt, message, more);
      logger.info({ ...more, ...fields() }, message);
    },
  };
}
