import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { enginesFolder } from "./engines-folder.js";

const script = (name: string) => fileURLToPath(new URL(name, import.meta.url));

const usersFolder = join(enginesFolder, "users");

/**
 * Starts the engines that are installed, before the tests; stops afterwards the daemon that tests had to start, unless another run of
 * tests uses it. Installs nothing.
 */
export function setup(): (() => void) | undefined {
  if (process.env["SKILLS_TEST_ENGINES"] === "none") return undefined;
  // A daemon that no run of tests has signed for was started by hand, and stays; setup.sh removes what runs that were killed left there.
  const isOurs = !isDaemonRunning() || existsSync(usersFolder);
  const user = join(usersFolder, String(process.pid));
  if (isOurs) {
    mkdirSync(usersFolder, { recursive: true });
    writeFileSync(user, "");
  }
  try {
    execFileSync(script("./setup.sh"), ["--no-install"], { stdio: ["ignore", "pipe", "pipe"], timeout: 120_000 });
  } catch (error) {
    // The tests that need an engine say so themselves; all others can run.
    process.stderr.write(`engines: ${String((error as { stderr?: Buffer }).stderr ?? error)}\n`);
  }
  if (!isOurs) return undefined;
  return () => {
    // Somebody has run setup.sh meanwhile: the daemon is theirs.
    if (!existsSync(user)) return;
    rmSync(user);
    if (readdirSync(usersFolder).some((pid) => existsSync(`/proc/${pid}`))) return;
    rmSync(usersFolder, { recursive: true, force: true });
    execFileSync(script("./stop.sh"), { stdio: "ignore", timeout: 60_000 });
  };
}

function isDaemonRunning(): boolean {
  const pidFile = join(enginesFolder, "docker.pid");
  return existsSync(pidFile) && existsSync(`/proc/${readFileSync(pidFile, "utf8").trim()}`);
}
