import { setMaxListeners } from "node:events";
import type { ServerResponse } from "node:http";
import { SkillError } from "../lib/index.js";

/**
 * A signal that aborts when the connection closes before the response is finished. The request's own `close` doesn't mean that: it
 * comes as soon as the body is read.
 */
export function responseSignal(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  // Each call of the request listens: a handler may make many at once, and none is left behind.
  setMaxListeners(0, controller.signal);
  const onClose = (): void => {
    if (response.writableFinished) return;
    const message = "The client closed the connection before the response was finished.";
    controller.abort(new SkillError("SKILL_CANCELLED", message));
  };
  if (isClosed(response)) onClose();
  else response.once("close", onClose);
  return controller.signal;
}

/** Whether nothing can be sent any more. */
export function isClosed(response: ServerResponse): boolean {
  return response.closed || response.destroyed;
}
