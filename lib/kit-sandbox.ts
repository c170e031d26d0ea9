import { SkillError } from "./errors.js";
import { runningCall } from "./executor/running.js";
import type { SandboxOptions } from "./sandbox/options.js";
import { createSandbox, type Sandbox } from "./sandbox/sandbox.js";
import type { SandboxConfig, SandboxRunner } from "./types.js";

/** The sandbox of a kit: made on first use, so that a kit without containers never asks for an engine. */
export interface KitSandbox {
  readonly runner: SandboxRunner;
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
    async close() {
      closed = true;
      await sandbox?.close({ graceMs: 0 });
    },
  };
}

/** A container that a handler starts ends with the handler's call, whether or not the handler passes its signal on. */
function withCallSignal(config: SandboxConfig = {}): SandboxConfig {
  const call = runningCall.getStore();
  if (call === undefined) return config;
  const { signal } = call.deadline;
  return { ...config, signal: config.signal === undefined ? signal : AbortSignal.any([signal, config.signal]) };
}
