import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeEach, describe } from "vitest";
import type { SandboxOptions } from "../../lib/sandbox/options.js";
import { createSandbox, type Sandbox } from "../../lib/sandbox/sandbox.js";
import { enginesFolder } from "./engines-folder.js";

/** Images that test/engines/setup.sh gives to both engines. */
export const shellImage = "localhost/express-skills-test/shell:1";
export const nodeImage = "localhost/express-skills-test/node:1";
export const meddlingImage = "localhost/express-skills-test/meddling:1";

export type TestEngineName = "docker" | "podman";

export interface TestEngine {
  readonly name: TestEngineName;
  /** The server's environment with what leads to the engine. */
  readonly environment: NodeJS.ProcessEnv;
  /** Makes a sandbox that is closed after the tests of the file; its owner is the test's own. */
  sandbox(options?: SandboxOptions): Sandbox;
  /** One for all tests of the file that need none of their own: asking an engine what it is and can do takes seconds. */
  readonly shared: Sandbox;
  /** The engine's own command line. */
  cli(...args: string[]): Promise<string>;
  /** Names of every container of this file's sandboxes, or of another owner's, in whatever state. */
  containers(ofOwner?: string): Promise<readonly string[]>;
}

const names: readonly TestEngineName[] = ["docker", "podman"];

/**
 * Runs tests on each engine. An engine that is not there skips them with its reason, and fails them when SKILLS_TEST_ENGINES names it.
 */
export function onEachEngine(title: string, body: (engine: TestEngine) => void): void {
  describe.each(names)(`${title} on %s`, (name) => {
    const sandboxes: Sandbox[] = [];
    const owner = `test ${process.pid} ${title}`;
    const environment = environmentOf(name);
    const cli = async (...args: string[]) => {
      const { stdout } = await promisify(execFile)(name, args, { env: environment, maxBuffer: 64 * 1024 * 1024 });
      return stdout;
    };
    beforeEach((context) => {
      const reason = missingReason(name);
      if (reason === null) return;
      if (isRequired(name)) throw new Error(`SKILLS_TEST_ENGINES names ${name}, but ${reason}`);
      context.skip(reason);
    });
    afterAll(async () => {
      await Promise.all(sandboxes.map((sandbox) => sandbox.close({ graceMs: 0 })));
    });
    const open = (options: SandboxOptions = {}) => {
      const sandbox = createSandbox({ runtime: name, environment, owner, ...options });
      sandboxes.push(sandbox);
      return sandbox;
    };
    let shared: Sandbox | undefined;
    body({
      name,
      environment,
      cli,
      sandbox: open,
      get shared() {
        // Under a name of its own, so that the others can count their containers.
        shared ??= open({ owner: `${owner} shared` });
        return shared;
      },
      async containers(ofOwner = owner) {
        const label = ownerHash(ofOwner);
        const external = name === "podman" ? ["--external"] : [];
        const output = await cli("ps", "-a", ...external, "--no-trunc", "--format", "{{.Names}}");
        return output.split("\n").filter((line) => line.includes(`express-skills-${label}-`));
      },
    });
  });
}

/** The owner's part of a container's name. */
export function ownerHash(owner: string): string {
  return createHash("sha256").update(owner).digest("hex").slice(0, 8);
}

function isRequired(name: TestEngineName): boolean {
  return (process.env["SKILLS_TEST_ENGINES"] ?? "").split(",").includes(name);
}

/** Why an engine cannot be tested here; `null` when it can. */
export function missingReason(name: TestEngineName): string | null {
  const named = process.env["SKILLS_TEST_ENGINES"];
  if (named !== undefined && named !== "" && !isRequired(name)) return `SKILLS_TEST_ENGINES does not name ${name}`;
  return readEnvironment().get(name) === "ready" ? null : `${name} is not ready: run test/engines/setup.sh`;
}

export function environmentOf(name: TestEngineName): NodeJS.ProcessEnv {
  const known = readEnvironment();
  const variable = name === "docker" ? "DOCKER_HOST" : "CONTAINERS_CONF";
  const value = known.get(variable);
  return value === undefined ? process.env : { ...process.env, [variable]: value };
}

function readEnvironment(): ReadonlyMap<string, string> {
  try {
    const lines = readFileSync(join(enginesFolder, "environment"), "utf8").split("\n");
    return new Map(
      lines
        .filter((line) => line.includes("="))
        .map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]),
    );
  } catch {
    return new Map();
  }
}

/** Waits until a condition holds, for at most `limitMs`. Returns whether it did. */
export async function eventually(condition: () => Promise<boolean> | boolean, limitMs = 30_000): Promise<boolean> {
  const until = performance.now() + limitMs;
  for (;;) {
    if (await condition()) return true;
    if (performance.now() > until) return false;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
