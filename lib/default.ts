import type { SkillExecutor as Executor } from "./executor/executor.js";
import { runningCall } from "./executor/running.js";
import type { SkillsOptions } from "./options.js";
import type { Registry } from "./registry/registry.js";
import { createSkills, type SkillsKit } from "./skills.js";
import type { SandboxRunner as Runner } from "./types.js";

let defaultKit: SkillsKit | undefined;

/**
 * The kit of the process, made on first use from the environment: `SKILLS_DATABASE` (default `skills.db` in the working directory) and
 * `SKILLS_SANDBOX_RUNTIME` (default: the first engine that answers). Once closed, the next use makes a new one.
 * @since 0.1.0
 */
export function defaultSkills(): SkillsKit {
  if (defaultKit !== undefined) return defaultKit;
  const kit = createSkills(optionsFromEnvironment(process.env));
  const close: SkillsKit["close"] = (options) => {
    if (defaultKit === made) defaultKit = undefined;
    return kit.close(options);
  };
  const made = { ...kit, close };
  defaultKit = made;
  return made;
}

/** The registry of the running call's kit inside a handler, else of the default kit. @since 0.1.0 */
export const skillRegistry: Registry = facade(() => currentKit().registry);

/** The executor of the running call's kit inside a handler, else of the default kit. @since 0.1.0 */
export const skillExecutor: Executor = facade(() => currentKit().executor);

/** The sandbox of the running call's kit inside a handler, else of the default kit. @since 0.1.0 */
export const sandboxRunner: Runner = facade(() => currentKit().sandbox);

export type SandboxRunner = Runner;
/** Gives `sandboxRunner`. @since 0.1.0 */
export const SandboxRunner = Object.freeze({ getInstance: () => sandboxRunner });

export type SkillRegistry = Registry;
/** Gives `skillRegistry`. @since 0.1.0 */
export const SkillRegistry = Object.freeze({ getInstance: () => skillRegistry });

export type SkillExecutor = Executor;
/** Gives `skillExecutor`. @since 0.1.0 */
export const SkillExecutor = Object.freeze({ getInstance: () => skillExecutor });

function currentKit(): SkillsKit {
  return (runningCall.getStore()?.kit as SkillsKit | undefined) ?? defaultSkills();
}

function optionsFromEnvironment(environment: NodeJS.ProcessEnv): SkillsOptions {
  const database = environment.SKILLS_DATABASE;
  return database === undefined || database === "" ? {} : { database };
}

/** An object whose members are those of whatever `find` gives at the time of use. */
function facade<T extends object>(find: () => T): T {
  return new Proxy({} as T, {
    get(_, key) {
      const target = find();
      const member = Reflect.get(target, key);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}
