import { type Fault, SkillError } from "../errors.js";
import type { Handler, MaybePromise, Skill } from "../types.js";

/** Checks an input instead of the skill's JSON Schema, and gives the value that the handler receives. */
export type InputParser = (input: unknown) => MaybePromise<ParsedInput>;
export type ParsedInput =
  | { readonly value: unknown; readonly faults?: undefined }
  | { readonly faults: readonly Fault[]; readonly value?: undefined };

export interface RegisteredHandler {
  readonly run: Handler<never, unknown>;
  readonly parseInput?: InputParser | undefined;
  /**
   * The only skill that it works for: `define()` makes a handler that trusts the schema beside it, which a skill that somebody else
   * registers with the same handler would not keep.
   */
  readonly onlyFor?: Version | undefined;
  /** Set when a container does the work, which ends when its call does. */
  readonly isContainer?: true;
}

const MAX_NAMES_IN_ERROR = 20;

/** What does skills' work: the functions of this process, by name, and containers. */
export class Handlers {
  readonly #byName = new Map<string, RegisteredHandler>();
  readonly #inContainer: (skill: Skill) => RegisteredHandler;

  constructor(inContainer: (skill: Skill) => RegisteredHandler) {
    this.#inContainer = inContainer;
  }

  set(name: string, handler: RegisteredHandler): void {
    if (typeof name !== "string" || name.length < 1 || name.length > 200)
      throw new SkillError("INVALID_OPTION", "A handler's name must be a string of 1 to 200 characters.");
    if (typeof handler.run !== "function")
      throw new SkillError("INVALID_OPTION", `The handler "${name}" must be a function, got ${typeof handler.run}.`);
    this.#byName.set(name, handler);
  }

  names(): readonly string[] {
    return [...this.#byName.keys()];
  }

  /** Whether `get()` gives a handler. */
  has(skill: Skill): boolean {
    if (skill.handler === null) return true;
    const handler = this.#byName.get(skill.handler);
    return handler !== undefined && (handler.onlyFor === undefined || isSame(handler.onlyFor, skill));
  }

  /** @throws HANDLER_NOT_FOUND naming those that exist */
  get(skill: Skill): RegisteredHandler {
    const name = skill.handler;
    if (name === null) return this.#inContainer(skill);
    const handler = this.#byName.get(name);
    if (handler === undefined)
      throw new SkillError("HANDLER_NOT_FOUND", `No handler "${name}" is registered in this process; ${this.#known()}.`);
    const { onlyFor } = handler;
    if (onlyFor === undefined || isSame(onlyFor, skill)) return handler;
    throw new SkillError(
      "HANDLER_NOT_FOUND",
      `The handler "${name}" was made by define() for another skill; name one of executor.registerHandler().`,
    );
  }

  #known(): string {
    const names = [...this.#byName.keys()].sort();
    if (names.length === 0) return "none is: call executor.registerHandler() at start";
    const shown = names.slice(0, MAX_NAMES_IN_ERROR).join(", ");
    return `registered are ${shown}${names.length > MAX_NAMES_IN_ERROR ? ` and ${names.length - MAX_NAMES_IN_ERROR} more` : ""}`;
  }
}

type Version = Pick<Skill, "apiKeyId" | "name" | "version">;

function isSame(a: Version, b: Version): boolean {
  return a.name === b.name && a.version === b.version && a.apiKeyId === b.apiKeyId;
}
