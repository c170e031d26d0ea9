import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { SandboxOptions } from "../../lib/sandbox/options.js";
import { createSandbox, type Sandbox } from "../../lib/sandbox/sandbox.js";

/** Shell code for subcommands of a command line program that stands in for an engine's and misbehaves on demand. */
export type StubCommands = Readonly<Record<string, string>>;

export interface StubEngine {
  readonly folder: string;
  /** The server's environment with the stub first on the PATH. */
  readonly environment: NodeJS.ProcessEnv;
  /** The arguments of every call so far, one line a call. */
  calls(): Promise<readonly string[]>;
}

const version = '{"Client":{"Version":"1"},"Server":{"Version":"1.0.0-stub","Components":[{"Name":"Engine"}]}}';
const image = `{"Id":"sha256:${"a".repeat(64)}","RepoDigests":[],"Config":{"Volumes":null}}`;
const state = '{"Status":"exited","Running":false,"OOMKilled":false,"ExitCode":0,"StartedAt":"2026-01-01T00:00:00Z"}';

const defaults: StubCommands = {
  version: `echo '${version}'`,
  info: `echo '{"NCPU":4}'`,
  image: `echo '${image}'`,
  events: "exec sleep 60",
  run: "echo hello",
  kill: "exit 0",
  rm: 'shift; for name; do case "$name" in --*) ;; *) echo "$name" ;; esac; done',
  inspect: `echo '${state}'`,
  ps: "exit 0",
  pull: "exit 0",
};

/** Makes a stub named `name` in a folder of its own, removed after the test. `$FOLDER` in the code is that folder, for files that carry state. */
export async function createStubEngine(commands: StubCommands = {}, name = "docker"): Promise<StubEngine> {
  const folder = await mkdtemp(join(tmpdir(), "stub-engine-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const cases = Object.entries({ ...defaults, ...commands }).map(([command, code]) => `${command})\n${code}\n;;`);
  const script = [
    "#!/bin/sh",
    `FOLDER='${folder}'`,
    'case "$1" in --log-level*) shift ;; esac',
    'echo "$*" >> "$FOLDER/calls"',
    'case "$1" in',
    ...cases,
    "esac",
  ].join("\n");
  await writeFile(join(folder, name), script);
  await chmod(join(folder, name), 0o755);
  return {
    folder,
    environment: { ...process.env, PATH: `${folder}:/usr/bin:/bin` },
    async calls() {
      const text = await readFile(join(folder, "calls"), "utf8").catch(() => "");
      return text.split("\n").filter((line) => line !== "");
    },
  };
}

/** A sandbox on a stub named `name`. The test closes it. */
export async function createStubSandbox(
  commands: StubCommands,
  options: SandboxOptions = {},
  name = "docker",
): Promise<StubEngine & { readonly sandbox: Sandbox }> {
  const stub = await createStubEngine(commands, name);
  const { environment } = stub;
  const own = { runtime: "docker", allowUnenforcedLimits: true, owner: "stub", environment };
  return { ...stub, sandbox: createSandbox({ ...own, ...options }) };
}

/** A signal that aborts `afterMs` after the stub was told to run a container. */
export function abortOnceItRuns(stub: StubEngine, afterMs: number): AbortSignal {
  const abort = new AbortController();
  const look = async () => {
    const isRunning = (await stub.calls()).some((call) => call.startsWith("run "));
    setTimeout(isRunning ? () => abort.abort() : () => void look(), isRunning ? afterMs : 10);
  };
  void look();
  return abort.signal;
}
