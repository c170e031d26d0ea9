import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseContainerEnvironment } from "../../../dist/lib/sandbox/container-environment.js";
import { engineTable } from "../../../dist/lib/sandbox/engine-table.js";
import { defaultLimits } from "../../../dist/lib/sandbox/limits.js";
import { runArguments } from "../../../dist/lib/sandbox/run-arguments.js";

export const shellImage = "localhost/express-skills-test/shell:1";

const enginesFolder = process.env["SKILLS_TEST_ENGINES_DIR"] ?? `/tmp/express-skills-engines-${process.getuid?.() ?? 0}`;

/**
 * The environment that leads to an engine of test/engines/setup.sh; `null` when it is not there.
 * @param {string} engine
 */
export function engineEnvironment(engine) {
  try {
    const lines = readFileSync(join(enginesFolder, "environment"), "utf8").split("\n");
    if (!lines.includes(`${engine}=ready`)) return null;
    const variables = lines
      .filter((line) => /^[A-Z_]+=/.test(line))
      .map((line) => /** @type {const} */ ([line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]));
    return { ...process.env, ...Object.fromEntries(variables) };
  } catch {
    return null;
  }
}

/**
 * The engine's own `run --rm` with the flags of a sandbox run, as a function that starts it and waits for its end.
 * @param {string} engine
 * @param {NodeJS.ProcessEnv} environment
 */
export async function rawRun(engine, environment) {
  const traits = engineTable[/** @type {"docker" | "podman"} */ (engine)];
  let count = 0;
  return async (/** @type {readonly string[]} */ command) => {
    count += 1;
    const args = runArguments({
      engine: {
        traits,
        binary: engine,
        environment: () => ({}),
        version: "",
        server: engine,
        rootless: false,
        remote: false,
        selinux: false,
        cpus: null,
        warnings: [],
      },
      name: `bench-raw-${process.pid}-${count}`,
      labels: ["a=1", "b=2", "c=3"],
      imageId: shellImage,
      volumes: [],
      command,
      environment: parseContainerEnvironment({}),
      limits: defaultLimits,
      network: "none",
      mounts: null,
      hostsFile: traits.copiesHosts ? "/etc/hosts" : null,
      pidFile: null,
    });
    const child = spawn(engine, [...traits.globalFlags, "run", "--rm", ...args.slice(1)], {
      env: environment,
      stdio: ["ignore", "pipe", "inherit"],
    });
    child.stdout?.resume();
    const [code] = await once(child, "close");
    if (code !== 0) throw new Error(`${engine} ended with ${code}`);
  };
}
