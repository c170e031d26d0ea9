import { lstat, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runCli } from "./cli.js";
import type { Engine } from "./engine-table.js";
import { type Instance, isInstanceDead, ownerLabel, parseContainerName, processPart } from "./instance.js";
import type { Removal } from "./removal.js";

const listLimitMs = 10_000;
export const folderPrefix = "express-skills-run-";

/** Names of this application's containers in whatever state. */
export async function listOwnContainers(engine: Engine, instance: Instance): Promise<readonly string[]> {
  const args = ["ps", "--all", "--no-trunc", `--filter=label=${ownerLabel}=${instance.owner}`, "--format={{.Names}}"];
  const outcome = await runCli(engine, args, listLimitMs);
  if (outcome.code !== 0) return [];
  return outcome.stdout.split("\n").filter((name) => parseContainerName(name)?.owner === instance.owner);
}

/**
 * Removes this application's containers that nobody can need: their process is dead, their deadline passed, or they are this
 * instance's and not among its living. A container counts as ours only by its exact name, which an image cannot forge.
 */
export async function reapContainers(
  engine: Engine,
  instance: Instance,
  living: { has(name: string): boolean },
  removal: Removal,
): Promise<number> {
  const names = await listOwnContainers(engine, instance);
  const useless = names.filter((name) => {
    const parsed = parseContainerName(name);
    if (parsed === null || living.has(name)) return false;
    if (parsed.random === instance.random) return true;
    return isInstanceDead(parsed, instance) || parsed.deadlineS * 1000 < Date.now();
  });
  for (const name of useless) removal.remove(engine, name, false);
  return useless.length;
}

/** The folder of an instance's runs. */
export function instanceFolder(instance: Instance): string {
  return join(tmpdir(), `${folderPrefix}${instance.owner}-${processPart(instance)}`);
}

/** Removes the temp folders of dead instances of this application. */
export async function reapFolders(instance: Instance): Promise<void> {
  const prefix = `${folderPrefix}${instance.owner}-`;
  const names = await readdir(tmpdir()).catch(() => []);
  for (const name of names.filter((entry) => entry.startsWith(prefix))) {
    const match = /^([0-9a-f]{8})-(\d{1,10})-([0-9a-z]{1,13})-[0-9a-f]{10}$/.exec(name.slice(prefix.length));
    if (match === null) continue;
    const [, host = "", pid = "", started = ""] = match;
    if (!isInstanceDead({ host, pid: Number(pid), started }, instance)) continue;
    const folder = join(tmpdir(), name);
    const found = await lstat(folder).catch(() => null);
    if (found === null || (process.getuid !== undefined && found.uid !== process.getuid())) continue;
    await rm(folder, { recursive: true, force: true }).catch(() => {});
  }
}
