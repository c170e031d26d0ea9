import { setMaxListeners } from "node:events";
import type { ServerResponse } from "node:http";
import { type AbortSignalLike, SkillError } from "../lib/index.js";

/**
 * Aborts when the connection closes before the response is finished. The request's own `close` doesn't mean that: it comes as soon as
 * the body is read. It has what the executor listens to; a real `AbortSignal` costs more than the rest of a step, and is made only for those
 * who ask for it.
 */
export class ResponseSignal implements AbortSignalLike {
  readonly #listeners = new Set<() => void>();
  #reason: SkillError | undefined;
  #controller: AbortController | undefined;

  constructor(response: ServerResponse) {
    const onClose = () => {
      if (!response.writableFinished) this.#abort();
    };
    if (isClosed(response)) onClose();
    else response.once("close", onClose);
  }

  get aborted(): boolean {
    return this.#reason !== undefined;
  }

  get reason(): SkillError | undefined {
    return this.#reason;
  }

  addEventListener(_type: "abort", listener: () => void): void {
    this.#listeners.add(listener);
  }

  removeEventListener(_type: "abort", listener: () => void): void {
    this.#listeners.delete(listener);
  }

  toAbortSignal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      // A route may start many things at once that each listen.
      setMaxListeners(0, this.#controller.signal);
      if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  #abort(): void {
    this.#reason = new SkillError("SKILL_CANCELLED", "The client closed the connection before the response was finished.");
    for (const listener of this.#listeners) listener();
    this.#controller?.abort(this.#reason);
  }
}

/** Whether nothing can be sent any more. */
export function isClosed(response: ServerResponse): boolean {
  return response.closed || response.destroyed;
}
