import type { IncomingMessage, ServerResponse } from "node:http";
import { isSkillError, type Logger } from "../lib/index.js";
import { describeProblem } from "./problem.js";
import { isClosed } from "./response-signal.js";

export interface ProblemReporter {
  /** Where 5xx are logged. `undefined`: `console.error`. */
  readonly logger: Pick<Logger, "error"> | undefined;
  readonly requestId: string;
}

/** What a route may have set for the answer that it did not get to send. */
const STALE_HEADERS = ["Content-Encoding", "Content-Language", "Content-Range", "ETag", "Last-Modified"];

/**
 * Logs an error and answers it as problem details. Gives false when an answer was begun already, and true when nothing is left to do: also
 * when the client has left.
 */
export function sendProblem(
  error: unknown,
  request: IncomingMessage,
  response: ServerResponse,
  { logger, requestId }: ProblemReporter,
): boolean {
  const { problem, headers } = describeProblem(error);
  if (problem.status >= 500) logFailure(logger, error, request, requestId);
  if (isClosed(response)) return true;
  if (response.headersSent) return false;
  setHeaders(response, headers);
  response.statusCode = problem.status;
  send(request, response, { ...problem, instance: pathOf(request), requestId });
  return true;
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
