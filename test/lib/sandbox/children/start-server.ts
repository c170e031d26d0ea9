import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

const root = fileURLToPath(new URL("../../../..", import.meta.url));
// Node 20 does not run TypeScript itself.
const launch =
  'import { runnerImport } from "vite"; await runnerImport(process.argv[1], { configFile: false, root: process.cwd(), logLevel: "error" });';

/** Starts `server.ts` as a process of its own, which is killed when the test ends. */
export function startServer(environment: NodeJS.ProcessEnv, ...args: string[]): ChildProcess {
  const script = fileURLToPath(new URL("server.ts", import.meta.url));
  const child = spawn(process.execPath, ["--no-warnings", "--input-type=module", "--eval", launch, script, script, ...args], {
    cwd: root,
    env: environment,
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  return child;
}
