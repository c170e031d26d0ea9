import { type ChildProcess, spawn } from "node:child_process";
import type { EngineTraits } from "./engine-table.js";

/** What is needed to start an engine's command line program. */
export interface Cli {
  readonly traits: EngineTraits;
  readonly binary: string;
  environment(): Record<string, string>;
  /** The server's proxies, for fetching images. */
  proxies(): Record<string, string>;
}

export interface CliOutcome {
  /** `null` when it was killed or never started. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly timedOut: boolean;
  /** Why it could not be started, such as `ENOENT`. */
  readonly startError: string | null;
}

export interface RunCliOptions {
  /** Added to the command line program's own environment. */
  readonly variables?: Readonly<Record<string, string>> | undefined;
  /** Ends the command. */
  readonly signal?: AbortSignal | undefined;
}

/** Far more than any helper command prints. */
const keptBytes = 4 * 1024 * 1024;

/**
 * Runs a helper command (`kill`, `rm`, `inspect`, `pull` ...) that may itself hang: it is killed after `limitMs`, and the promise
 * settles then whatever happens. Never rejects.
 */
export function runCli(
  cli: Cli,
  args: readonly string[],
  limitMs: number,
  { variables, signal }: RunCliOptions = {},
): Promise<CliOutcome> {
  return new Promise((resolve) => {
    let child: ChildProcess;
    try {
      child = spawnCli(cli, args, { stdio: ["ignore", "pipe", "pipe"], variables });
    } catch (error) {
      resolve({ code: null, stdout: "", stderr: "", timedOut: false, startError: errorCode(error) });
      return;
    }
    const stdout = collect(child.stdout);
    const stderr = collect(child.stderr);
    let settled = false;
    const settle = (code: number | null, timedOut: boolean, startError: string | null) => {
      if (settled) return;
      settled = true;
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
      child.stdout?.destroy();
      child.stderr?.destroy();
      resolve({ code, stdout: stdout(), stderr: stderr(), timedOut, startError });
    };
    const timer = setTimeout(() => {
      killTree(child);
      settle(null, true, null);
    }, limitMs);
    const onAbort = () => {
      killTree(child);
      settle(null, false, null);
    };
    signal?.addEventListener("abort", onAbort, { once: true });
    if (signal?.aborted === true) onAbort();
    child.on("error", (error) => settle(null, false, errorCode(error)));
    child.on("close", (code) => settle(code, false, null));
    // A process that outlives the command can hold its output open.
    child.on("exit", (code) => setTimeout(() => settle(code, false, null), 1000).unref());
  });
}

export interface SpawnCliOptions {
  readonly stdio: ("ignore" | "pipe")[];
  readonly cwd?: string | undefined;
  /** Added to the command line program's own environment. */
  readonly variables?: Readonly<Record<string, string>> | undefined;
}

/** Starts the command line program in a process group of its own: a Ctrl-C at the server's terminal must not reach it. */
export function spawnCli(cli: Cli, args: readonly string[], options: SpawnCliOptions): ChildProcess {
  return spawn(cli.binary, [...cli.traits.globalFlags, ...args], {
    env: { ...options.variables, ...cli.environment() },
    cwd: options.cwd,
    stdio: options.stdio,
    detached: process.platform !== "win32",
    windowsHide: true,
  });
}

/** Ends the command line program and whatever it started. The container is not among that. */
export function killTree(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    if (process.platform === "win32") child.kill("SIGKILL");
    else process.kill(-child.pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}

function collect(stream: NodeJS.ReadableStream | null): () => string {
  const chunks: Buffer[] = [];
  let bytes = 0;
  stream?.on("data", (chunk: Buffer) => {
    if (bytes < keptBytes) chunks.push(chunk);
    bytes += chunk.length;
  });
  stream?.on("error", () => {});
  return () => Buffer.concat(chunks).toString("utf8");
}

export function errorCode(error: unknown): string {
  const code = (error as NodeJS.ErrnoException | null)?.code;
  return typeof code === "string" ? code : String(error);
}
