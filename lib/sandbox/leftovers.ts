import { createInstance } from "./instance.js";
import { parseSandboxOptions, type SandboxOptions } from "./options.js";
import { hasLeftovers } from "./reaper.js";

/** Whether a killed instance of a sandbox with these options left something to remove. Costs a look into the temp folder, and no engine. */
export function isSomethingLeft(options: SandboxOptions): Promise<boolean> {
  return hasLeftovers(createInstance(parseSandboxOptions(options).owner));
}
