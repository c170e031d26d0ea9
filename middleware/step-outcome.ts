import type { SkillError } from "../lib/index.js";

/** What one step of a route left: a result, or an error with which the route continues. */
export type StepOutcome =
  | { readonly key: string; readonly reference: string; readonly value: unknown; readonly error?: undefined }
  | { readonly key: string; readonly error: SkillError };
