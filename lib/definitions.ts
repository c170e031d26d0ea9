import type { PreparedDefinition } from "./define.js";
import { SkillError } from "./errors.js";
import type { SkillExecutor } from "./executor/executor.js";
import { messageOf } from "./executor/outcome.js";
import type { SkillRegistry } from "./registry/registry.js";
import type { Logger, SkillHandle } from "./types.js";

/** What `define()` declared, on its way into the registry. */
export class Definitions {
  readonly #executor: SkillExecutor;
  readonly #logger: Logger;
  readonly #faults: SkillError[] = [];
  #waiting: PreparedDefinition[] = [];
  #registering: Promise<void> | undefined;

  constructor(executor: SkillExecutor, logger: Logger) {
    this.#executor = executor;
    this.#logger = logger;
  }

  /** Whether every definition has been tried. */
  get isSettled(): boolean {
    return this.#waiting.length === 0 && this.#registering === undefined;
  }

  add(definition: PreparedDefinition): SkillHandle<unknown, unknown> {
    const { handler, handlerName } = definition;
    if (handler !== undefined) this.#executor.registerParsedHandler(handlerName, handler);
    this.#waiting.push(definition);
    return definition.handle;
  }

  /**
   * Registers what waits. A faulty definition does not stop the others; one that the database could not take stays.
   * @throws STORE_UNAVAILABLE
   */
  async register(registry: SkillRegistry): Promise<void> {
    while (!this.isSettled) {
      this.#registering ??= this.#registerWaiting(registry).finally(() => {
        this.#registering = undefined;
      });
      await this.#registering;
    }
  }

  /** @throws the fault of a definition; with several, the first one, naming how many there are */
  throwFault(): void {
    const [first, ...others] = this.#faults;
    if (first === undefined) return;
    const message =
      others.length === 0 ? first.message : `${first.message} (${others.length} more definitions are at fault: see the log.)`;
    throw new SkillError(first.code, message, { cause: first, faults: first.faults });
  }

  async #registerWaiting(registry: SkillRegistry): Promise<void> {
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      try {
        await this.#register(registry, next);
      } catch (error) {
        const fault = error instanceof SkillError ? error : unreadable(next, error);
        if (fault.retryable) throw fault;
        this.#fail(next, fault);
      }
      this.#waiting.shift();
    }
  }

  async #register(registry: SkillRegistry, definition: PreparedDefinition): Promise<void> {
    const complete = definition.toDefinition();
    try {
      await registry.register(complete, { patterns: "native" });
    } catch (error) {
      const conflicts = error instanceof SkillError && error.code === "SKILL_CONFLICT";
      if (!conflicts || process.env.NODE_ENV === "production") throw error;
      this.#logger.warn({ skill: definition.handle.reference }, "a definition replaces other content of the same version");
      await registry.register(complete, { patterns: "native", replace: true });
    }
  }

  /**
   * A skill whose definition is at fault must not run with what an earlier definition left in the registry. A container needs no such care: what
   * is registered is complete.
   */
  #fail(definition: PreparedDefinition, error: SkillError): void {
    this.#faults.push(error);
    this.#logger.error({ skill: definition.handle.reference, err: error }, "a definition could not be registered");
    if (definition.handler === undefined) return;
    this.#executor.registerParsedHandler(definition.handlerName, {
      run: () => {
        throw error;
      },
    });
  }
}

/** A getter of the definition threw, or its vendor did. */
function unreadable({ handle }: PreparedDefinition, cause: unknown): SkillError {
  return new SkillError("INVALID_DEFINITION", `The definition of ${handle.reference} cannot be read: ${messageOf(cause)}`, {
    cause,
  });
}
