import type { IncomingMessage, ServerResponse } from "node:http";
import { SkillError } from "../lib/index.js";
import { requestContext } from "./request-context.js";
import type { Next, SkillsHandler } from "./types.js";

/**
 * A middleware that sends a result as JSON: the last one of a step, or `req.skills.results[key]`. Hands RESULT_MISSING to `next` when there
 * is none.
 *
 * @throws INVALID_OPTION when the route is declared: a key that is no text
 * @since 0.1.0
 */
export function respond(key?: string): SkillsHandler {
  if (key !== undefined && (typeof key !== "string" || key === "")) {
    throw new SkillError(
      "INVALID_OPTION",
      "respond() takes the key of a result, a text that is not empty, or nothing for the last result.",
    );
  }
  return function respondWithResult(request: IncomingMessage, response: ServerResponse, next: Next): void {
    try {
      // Express's own: it obeys the application's settings (spaces, replacer, etag) and answers HEAD without a body.
      (response as ServerResponse & { json(value: unknown): void }).json(requestContext(request).steps.ofKey(key));
    } catch (error) {
      next(error);
    }
  };
}
