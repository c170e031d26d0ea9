import { isSkillError } from "../../errors.js";
import { createSandbox, type Sandbox } from "../../sandbox/sandbox.js";
import type { SandboxDescription } from "../../types.js";
import { type Finding, ok } from "./finding.js";

const RUN_LIMIT_MS = 15_000;

/** The container engine, and each image: whether it is there, runs, and has its limits enforced. Nothing is pulled. */
export async function checkEngine(environment: NodeJS.ProcessEnv, images: readonly string[]): Promise<readonly Finding[]> {
  const isNeeded = images.length > 0;
  let sandbox: Sandbox;
  try {
    sandbox = createSandbox({ environment });
  } catch (error) {
    return [
      { subject: "engine", state: "broken", message: textOf(error), action: "Correct SKILLS_SANDBOX_RUNTIME: docker or podman." },
    ];
  }
  try {
    const engine = await describe(sandbox);
    if ("state" in engine) return [isNeeded ? engine : { ...engine, state: "note" }];
    const ofImages: Finding[] = [];
    for (const image of images) ofImages.push(await checkImage(sandbox, engine.engine, image));
    return [engineFinding(engine), ...ofImages, limitsFinding((await sandbox.describe()).limits)];
  } finally {
    await sandbox.close({ graceMs: 0 });
  }
}

async function describe(sandbox: Sandbox): Promise<SandboxDescription | Finding> {
  try {
    return await sandbox.describe();
  } catch (error) {
    const action = "Container skills need podman or docker: install one, start it, and let this user use it.";
    return { subject: "engine", state: "broken", message: textOf(error), action };
  }
}

function engineFinding({ engine, version, server, rootless, remote, warnings }: SandboxDescription): Finding {
  const facts = [
    rootless ? "rootless" : "with root",
    ...(remote ? ["on another machine"] : []),
    ...(server === engine ? [] : [server]),
  ];
  const message = `${engine} ${version} (${facts.join(", ")})`;
  if (warnings.length === 0) return ok("engine", message);
  return {
    subject: "engine",
    state: "warning",
    message: `${message}: ${warnings.join("; ")}`,
    action: `See \`${engine} info\`.`,
  };
}

async function checkImage(sandbox: Sandbox, engine: string, image: string): Promise<Finding> {
  try {
    await sandbox.run(image, ["true"], {}, { pull: "never", timeoutMs: RUN_LIMIT_MS });
    return ok("image", `${image} is there and starts`);
  } catch (error) {
    const code = isSkillError(error) ? error.code : null;
    // It was started, so it is there.
    if (code === "COMMAND_NOT_FOUND") return ok("image", `${image} is there; it has no \`true\` to be tried with`);
    const action =
      code === "IMAGE_NOT_FOUND"
        ? `Run \`${engine} pull ${image}\`, or build it.`
        : `Try \`${engine} run --rm ${image}\` by hand.`;
    return { subject: "image", state: "broken", message: textOf(error), action };
  }
}

function limitsFinding(limits: SandboxDescription["limits"]): Finding {
  const found = Object.entries(limits ?? {});
  const ignored = found.filter(([, isEnforced]) => isEnforced === false).map(([name]) => name);
  const enforced = found.filter(([, isEnforced]) => isEnforced === true).map(([name]) => name);
  if (ignored.length > 0) {
    const action = "Delegate the cgroup controllers to the engine, or accept it with the option sandbox.allowUnenforcedLimits.";
    return { subject: "limits", state: "broken", message: `the engine ignores: ${ignored.join(", ")}`, action };
  }
  if (enforced.length > 0) return ok("limits", `enforced: ${enforced.join(", ")}`);
  const action = "Let a container look, with an image that has a shell's usual programs: `express-skills doctor --image IMAGE`.";
  return { subject: "limits", state: "note", message: "whether the engine enforces them is not known", action };
}

function textOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).replace(/\.$/, "");
}
