import type { IncomingMessage, ServerResponse } from "node:http";
import { checkKeys, type Logger, SkillError } from "../lib/index.js";
import { sendProblem } from "./problem-response.js";
import { attachedContext } from "./request-context.js";
import { requestIdOf } from "./request-id.js";
import type { Next, SkillsErrorHandler } from "./types.js";

export interface SkillErrorsOptions {
  /** Where 5xx are logged. Default: the logger of the request's kit; `console.error` on a request without one. */
  readonly logger?: Pick<Logger, "error"> | undefined;
}

const OPTIONS = Object.keys({ logger: true } satisfies Record<keyof SkillErrorsOptions, true>);

/**
 * An error handler that answers every error as `application/problem+json` (RFC 9457), not only those of skills, so that an application
 * needs no other. Besides the standard members it has `code` (errors of this package), `requestId`, `executionId` and, when a value was
 * refused, `faults`. The text of a 5xx is logged and never sent, but for the few codes whose text is safe. Mount it after the routes.
 * When an answer was begun already, the error goes to the next handler; when the client has left, nothing is sent.
 *
 * @throws INVALID_OPTION
 * @since 0.1.0
 */
export function skillErrors(options: SkillErrorsOptions = {}): SkillsErrorHandler {
  checkKeys("options of skillErrors()", options, OPTIONS);
  const { logger } = options;
  if (logger !== undefined && typeof logger?.error !== "function") {
    throw new SkillError(
      "INVALID_OPTION",
      "The option logger of skillErrors() must have a method error(fields, message), as pino's has.",
    );
  }
  return function skillErrorHandler(error: unknown, request: IncomingMessage, response: ServerResponse, next: Next): void {
    const context = attachedContext(request);
    const reporter = { logger: logger ?? context?.logger, requestId: context?.requestId ?? requestIdOf(request) };
    if (!sendProblem(error, request, response, reporter)) next(error);
  };
}
