import { SkillError } from "./errors.js";
import { runningCall } from "./executor/running.js";
import { isSomethingLeft } from "./sandbox/leftovers.js";
import type { SandboxOptions } from "./sandbox/options.js";
import { createSandbox, type Sandbox } from "./sandbox/sandbox.js";
import type { SandboxConfig, SandboxRunner, Skill } from "./types.js";

/** The sandbox of a kit: made on first use, so that a kit without containers never asks for an engine. */
export interface KitSandbox {
  readonly runner: SandboxRunner;
  /** Answers inputs of container skills. */
  readonly serve: Sandbox["serve"];
  /** Starts what a skill keeps ahead, in the background. */
  prepare(skill: Skill): void;
  /** Ends what was started ahead for a skill. */
  drain(skillId: string): void;
  /** Ends what was started ahead for all skills, and starts nothing ahead any more. */
  endSlots(): void;
  /** Removes in the background what a killed process of this application left; asks for no engine when it left nothing. */
  recover(): void;
  /** Ends what runs, and removes every container. */
  close(): Promise<void>;
}

export function createKitSandbox(options: SandboxOptions): KitSandbox {
  let sandbox: Sandbox | undefined;
  let closed = false;
  const use = (): Sandbox => {
    if (closed) throw new SkillError("SHUTTING_DOWN", "The kit is closed.");
    sandbox ??= createSandbox(options);
    return sandbox;
  };
  return {
    runner: {
      run: async (image, command, env, config) => use().run(image, command, env, withCallSignal(config)),
      describe: async (image) => use().describe(image),
      stats: () => sandbox?.stats(),
    },
    serve: async (spec, input, call) => use().serve(spec, input, call),
    prepare({ id, name, version, apiKeyId, container, enabled, mode }) {
      if (container === null || (container.warm ?? 0) === 0 || options.maxSlots === 0 || closed) return;
      if (!enabled || mode === "off") return;
      const start = async () => use().prepare(container, apiKeyId, id);
      start().catch((error: unknown) => {
        options.logger?.warn({ skill: `${name}@${version}`, err: error }, "containers of a skill could not be started ahead");
      });
    },
    drain: (skillId) => sandbox?.drainSkill(skillId),
    endSlots: () => sandbox?.endSlots(),
    recover() {
      const start = async () => {
        if ((await isSomethingLeft(options)) && !closed) use().recover();
      };
      // An engine that cannot be used is told by the first run.
      start().catch(() => {});
    },
    async close() {
      closed = true;
      await sandbox?.close({ graceMs: 0 });
    },
  };
}

/** A container that a handler starts ends with the handler's call, whether or not the handler passes its signal on. */
function withCallSignal(config: SandboxConfig = {}): SandboxConfig {
  const call = runningCall.getStore();
  // What is not valid is refused by the run itself.
  if (call === undefined || typeof config !== "object" || config === null) return config;
  const { signal } = call.deadline;
  if (config.signal === undefined) return { ...config, signal };
  return config.signal instanceof AbortSignal ? { ...config, signal: AbortSignal.any([signal, config.signal]) } : config;
}
