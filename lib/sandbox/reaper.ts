import { lstat, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { runCli } from "./cli.js";
import type { Engine } from "./engine-table.js";
import { type ContainerName, type Instance, isInstanceDead, ownerLabel, parseContainerName, processPart } from "./instance.js";
import type { Removal } from "./removal.js";

const listLimitMs = 10_000;
const folderPrefix = "express-skills-run-";

/** Names of this application's containers in whatever state; `null` when the engine did not list them. */
async function listOwnContainers(engine: Engine, instance: Instance): Promise<readonly string[] | null> {
  const args = ["ps", "--all", "--no-trunc", `--filter=label=${ownerLabel}=${instance.owner}`, "--format={{.Names}}"];
  const outcome = await runCli(engine, args, listLimitMs);
  if (outcome.code !== 0) return null;
  return outcome.stdout.split("\n").filter((name) => parseContainerName(name)?.owner === instance.owner);
}

/**
 * Removes this application's containers that nobody can need: their process is dead, their deadline passed, or they are this
 * instance's and not among its living. A container counts as ours only by its exact name, which an image cannot forge. Returns their names;
 * `null` when the engine did not list them.
 */
export async function reapContainers(
  engine: Engine,
  instance: Instance,
  living: { has(name: string): boolean },
  removal: Removal,
): Promise<readonly string[] | null> {
  const names = await listOwnContainers(engine, instance);
  if (names === null) return null;
  const useless = names.filter((name) => {
    const parsed = parseContainerName(name);
    if (parsed === null || living.has(name)) return false;
    if (parsed.random === instance.random) return true;
    return isInstanceDead(parsed, instance) || parsed.deadlineS * 1000 < Date.now();
  });
  for (const name of useless) removal.remove(engine, name, false);
  return useless;
}

/** The folder of an instance's runs. Engines take a relative path for the name of a volume. */
export function instanceFolder(instance: Instance): string {
  return resolve(tmpdir(), `${folderPrefix}${instance.owner}-${processPart(instance)}`);
}

interface FolderName extends Pick<ContainerName, "owner" | "host" | "pid" | "started" | "random"> {
  readonly name: string;
}

async function listFolders(): Promise<readonly FolderName[]> {
  const names = await readdir(tmpdir()).catch(() => []);
  return names.flatMap((name) => {
    if (!name.startsWith(folderPrefix)) return [];
    const match = /^([0-9a-f]{8})-([0-9a-f]{8})-(\d{1,10})-([0-9a-z]{1,13})-([0-9a-f]{10})$/.exec(
      name.slice(folderPrefix.length),
    );
    if (match === null) return [];
    const [, owner = "", host = "", pid = "", started = "", random = ""] = match;
    return [{ name, owner, host, pid: Number(pid), started, random }];
  });
}

/** Whether an instance of this application was killed: each has a folder before its first container, until it is closed. Asks no engine. */
export async function hasLeftovers(instance: Instance): Promise<boolean> {
  const folders = await listFolders();
  return folders.some((folder) => folder.owner === instance.owner && isInstanceDead(folder, instance));
}

const dayMs = 24 * 3_600_000;
/** Another application needs the folder to know, at its next start, that it left something. */
const othersKeptMs = dayMs;
/** Of processes on another machine, or in another container, only the age is known. No run can be longer. */
const strangersKeptMs = 26 * dayMs;

/** Removes the temp folders of dead instances: of this application at once, of others when they are old. */
export async function reapFolders(instance: Instance): Promise<void> {
  for (const folder of await listFolders()) {
    const isStranger = folder.host !== instance.host;
    if (!isStranger && !isInstanceDead(folder, instance)) continue;
    const path = join(tmpdir(), folder.name);
    const found = await lstat(path).catch(() => null);
    if (found === null || (process.getuid !== undefined && found.uid !== process.getuid())) continue;
    const keptMs = isStranger ? strangersKeptMs : folder.owner === instance.owner ? 0 : othersKeptMs;
    if (Date.now() - found.mtimeMs >= keptMs || keptMs === 0) await rm(path, { recursive: true, force: true }).catch(() => {});
  }
}
