import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { enginesFolder } from "./engines-folder.js";

const script = (name: string) => fileURLToPath(new URL(name, import.meta.url));

/** Starts the engines that are installed, before the tests; stops afterwards the daemon that it had to start. Installs nothing. */
export function setup(): (() => void) | undefined {
  if (process.env["SKILLS_TEST_ENGINES"] === "none") return undefined;
  const ranBefore = isDaemonRunning();
  try {
    execFileSync(script("./setup.sh"), ["--no-install"], { stdio: ["ignore", "pipe", "pipe"], timeout: 120_000 });
  } catch (error) {
    // The tests that need an engine say so themselves; all others can run.
    process.stderr.write(`engines: ${String((error as { stderr?: Buffer }).stderr ?? error)}\n`);
  }
  if (ranBefore || !isDaemonRunning()) return undefined;
  return () => {
    execFileSync(script("./stop.sh"), { stdio: "ignore", timeout: 60_000 });
  };
}

function isDaemonRunning(): boolean {
  const pidFile = join(enginesFolder, "docker.pid");
  return existsSync(pidFile) && existsSync(`/proc/${readFileSync(pidFile, "utf8").trim()}`);
}
