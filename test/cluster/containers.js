import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { createSkills } from "express-skills/core";

const run = promisify(execFile);
const ENGINE_LIMIT_MS = 20_000;
/** Made by test/engines/setup.sh. */
const IMAGE = process.env["CLUSTER_IMAGE"] ?? "localhost/express-skills-test/shell:1";

/**
 * @typedef {object} Containers
 * @property {string} engine
 * @property {string} image
 * @property {() => Promise<string[]>} list the names of those that the cluster's processes made and did not remove
 *
 * @param {string} folder the working directory of the cluster's processes, which their containers are labelled with
 * @returns {Promise<Containers | string>} or why there are none
 */
export async function findContainers(folder) {
  // An engine is looked for as each process does it.
  const kit = createSkills({ database: ":memory:", worker: false, sandbox: { owner: folder } });
  try {
    const { engine } = await kit.sandbox.describe();
    await run(engine, ["image", "inspect", IMAGE], { timeout: ENGINE_LIMIT_MS });
    return { engine, image: IMAGE, list: () => list(engine, folder) };
  } catch (error) {
    const { message } = /** @type {Error} */ (error);
    return message.split("\n")[0] ?? message;
  } finally {
    await kit.close();
  }
}

/**
 * @param {string} engine
 * @param {string} folder
 */
async function list(engine, folder) {
  const owner = createHash("sha256").update(folder).digest("hex").slice(0, 8);
  const filter = `--filter=label=express-skills.owner=${owner}`;
  const { stdout } = await run(engine, ["ps", "--all", filter, "--format={{.Names}}"], { timeout: ENGINE_LIMIT_MS });
  return stdout.split("\n").filter((name) => name !== "");
}
