import { SkillError } from "../lib/index.js";

/**
 * An error that Express takes for one. A thrown `undefined`, `"route"` or `"router"` given to `next` would let the request go on as if
 * the step had succeeded.
 */
export function passable(thrown: unknown): object {
  if ((typeof thrown === "object" || typeof thrown === "function") && thrown !== null) return thrown;
  return new SkillError(
    "INVALID_OPTION",
    `A function given to a step or to skills() threw ${String(thrown)} instead of an Error.`,
    {
      cause: thrown,
    },
  );
}
