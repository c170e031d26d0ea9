import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
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
 * @property {(names: readonly string[]) => Promise<void>} remove
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
    return { engine, image: IMAGE, list: () => list(engine, folder), remove: (names) => remove(engine, names) };
  } catch (error) {
    const { message } = /** @type {Error} */ (error);
    return message.split("\n")[0] ?? message;
  } finally {
    await kit.close();
  }
}

/**
 * Removes what the cluster's processes left in the folder for temporary files.
 *
 * @param {string} folder
 * @returns {string[]} what that was
 */
export function removeFolders(folder) {
  const left = readdirSync(tmpdir()).filter((name) => name.startsWith(`express-skills-run-${ownerOf(folder)}-`));
  for (const name of left) rmSync(join(tmpdir(), name), { recursive: true, force: true });
  return left;
}

/**
 * @param {string} engine
 * @param {string} folder
 */
async function list(engine, folder) {
  const filter = `--filter=label=express-skills.owner=${ownerOf(folder)}`;
  const { stdout } = await run(engine, ["ps", "--all", filter, "--format={{.Names}}"], { timeout: ENGINE_LIMIT_MS });
  return stdout.split("\n").filter((name) => name !== "");
}

/**
 * @param {string} engine
 * @param {readonly string[]} names
 */
async function remove(engine, names) {
  if (names.length > 0) await run(engine, ["rm", "--force", ...names], { timeout: ENGINE_LIMIT_MS });
}

/** How the names of containers and folders say whose they are. @param {string} folder */
function ownerOf(folder) {
  return createHash("sha256").update(folder).digest("hex").slice(0, 8);
}
