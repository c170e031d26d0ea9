import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

const root = fileURLToPath(new URL("../../..", import.meta.url));
// Node 20 does not run TypeScript itself.
const launch = `
  import { runnerImport } from "vite";
  await runnerImport(process.argv[1], { configFile: false, root: process.cwd(), logLevel: "error" });
`;

/** A script of `children/` that runs as a process of its own and stands at its gate. */
export interface Child {
  open(): void;
  /** What it printed after its gate opened, and how it ended. */
  readonly end: Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }>;
}

/** Starts one, and is done when it stands at its gate. It is ended with the test at the latest. */
export async function startChild(script: string, args: readonly string[], options: { uid?: number } = {}): Promise<Child> {
  const path = fileURLToPath(new URL(`children/${script}`, import.meta.url));
  const child = spawn(process.execPath, ["--no-warnings", "--input-type=module", "--eval", launch, path, ...args], {
    cwd: root,
    stdio: "pipe",
    ...options,
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const output = { stdout: "", stderr: "" };
  child.stderr.on("data", (chunk) => {
    output.stderr += String(chunk);
  });
  const end = endOf(child, output);
  const early = await Promise.race([once(child.stdout, "data"), end]);
  if ("code" in early) throw new Error(`${script} ended early: ${early.stderr}`);
  child.stdout.on("data", (chunk) => {
    output.stdout += String(chunk);
  });
  return { open: () => void child.stdin.end("go"), end };
}

/** Starts several, opens their gates at the same moment, and gives how they ended. */
export async function runTogether(script: string, args: readonly string[], count: number) {
  const children = await Promise.all(Array.from({ length: count }, () => startChild(script, args)));
  for (const child of children) child.open();
  return Promise.all(children.map(({ end }) => end));
}

async function endOf<Output extends object>(child: ChildProcess, output: Output): Promise<Output & { code: number | null }> {
  const [code] = (await once(child, "close")) as [number | null];
  return { ...output, code };
}
