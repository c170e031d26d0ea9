import type { IncomingMessage, ServerResponse } from "node:http";
import { checkKeys, isSkillError, type Logger, SkillError } from "../lib/index.js";
import { describeProblem } from "./problem.js";
import { attachedContext } from "./request-context.js";
import { requestIdOf } from "./request-id.js";
import { isClosed } from "./response-signal.js";
import type { Next, SkillsErrorHandler } from "./types.js";

export interface SkillErrorsOptions {
  /** Where 5xx are logged. Default: the logger of the request's kit; `console.error` on a request without one. */
  readonly logger?: Pick<Logger, "error"> | undefined;
}

const OPTIONS = Object.keys({ logger: true } satisfies Record<keyof SkillErrorsOptions, true>);

/** What a route may have set for the answer that it did not get to send. */
const STALE_HEADERS = ["Content-Encoding", "Content-Language", "Content-Range", "ETag", "Last-Modified"];

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
    const requestId = attachedContext(request)?.requestId ?? requestIdOf(request);
    const { problem, headers } = describeProblem(error);
    if (problem.status >= 500) logFailure(logger ?? attachedContext(request)?.logger, error, request, requestId);
    if (isClosed(response)) return;
    if (response.headersSent) {
      next(error);
      return;
    }
    setHeaders(response, headers);
    response.statusCode = problem.status;
    send(request, response, { ...problem, instance: pathOf(request), requestId });
  };
}

function logFailure(
  logger: Pick<Logger, "error"> | undefined,
  error: unknown,
  request: IncomingMessage,
  requestId: string,
): void {
  const code = isSkillError(error) ? error.code : undefined;
  const fields = { requestId, code, method: request.method, path: pathOf(request), err: error };
  const message = "A request failed";
  if (logger === undefined) console.error(message, fields);
  else logger.error(fields, message);
}

function setHeaders(response: ServerResponse, headers: Readonly<Record<string, unknown>>): void {
  for (const name of STALE_HEADERS) response.removeHeader(name);
  for (const [name, value] of Object.entries(headers)) {
    try {
      response.setHeader(name, value as string);
    } catch {
      // An error with an unusable header is still answered.
    }
  }
}

function send(request: IncomingMessage, response: ServerResponse, problem: object): void {
  const body = Buffer.from(JSON.stringify(problem));
  response.setHeader("Content-Type", "application/problem+json; charset=utf-8");
  response.setHeader("Content-Length", body.length);
  response.setHeader("Cache-Control", "no-store");
  response.setHeader("X-Content-Type-Options", "nosniff");
  response.end(request.method === "HEAD" ? undefined : body);
}

/** Without the query, which may hold secrets that should not reach a log. */
function pathOf(request: IncomingMessage): string {
  const { originalUrl = request.url ?? "" } = request as IncomingMessage & { originalUrl?: string };
  const [path = ""] = originalUrl.split("?");
  return path;
}
