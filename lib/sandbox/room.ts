import { access, chmod, lstat, mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "../types.js";
import type { EngineChoice } from "./choose-engine.js";
import type { Container } from "./container.js";
import type { Engine } from "./engine-table.js";
import type { Images } from "./images.js";
import type { Instance } from "./instance.js";
import type { Networks } from "./network.js";
import { instanceFolder, reapContainers, reapFolders } from "./reaper.js";
import type { Removal } from "./removal.js";
import { containerHostname } from "./run-arguments.js";
import type { Events } from "./start-evidence.js";

/** What the parts of one sandbox share. */
export interface Room {
  readonly instance: Instance;
  readonly choice: EngineChoice;
  readonly images: Images;
  readonly networks: Networks;
  readonly events: Events;
  readonly removal: Removal;
  /** Containers that are in use, by name: the reaper leaves them alone. */
  readonly living: Map<string, Container | null>;
  /** Containers that are being given back. */
  readonly releasing: Set<Promise<void>>;
  readonly logger: Logger;
  /** Aborts when the sandbox closes: nothing is started any more, and nothing fetched. */
  readonly life: AbortSignal;
  /** The instance's folder with the file that becomes `/etc/hosts`, made on first use. */
  folder(): Promise<string>;
  removeFolder(): Promise<void>;
}

export type RoomParts = Omit<Room, "folder" | "removeFolder">;

export function createRoom(parts: RoomParts): Room {
  let folder: Promise<string> | null = null;
  return {
    ...parts,
    folder() {
      const made = folder === null ? makeFolder(instanceFolder(parts.instance)) : folder.then(makeFolder);
      folder = made.catch((error: unknown) => {
        folder = null;
        throw error;
      });
      return folder;
    },
    async removeFolder() {
      const made = await folder?.catch(() => null);
      if (typeof made === "string") await rm(made, { recursive: true, force: true }).catch(() => {});
      folder = null;
    },
  };
}

export const hostsFileName = "hosts";

/** Makes the folder, or what is missing of it: many machines remove old files from their temp folders. */
async function makeFolder(folder: string): Promise<string> {
  const hosts = join(folder, hostsFileName);
  if (await isOurs(folder)) {
    if (await isThere(hosts)) return folder;
  } else {
    // Other users of the machine must not read what skills are given.
    await mkdir(folder, { mode: 0o700 });
  }
  await writeFile(hosts, `127.0.0.1 localhost\n::1 localhost\n127.0.0.1 ${containerHostname}\n`);
  // The mode of a new file is subject to the process's umask.
  await chmod(hosts, 0o444);
  return folder;
}

/** Somebody who knows the name could have made the folder in our place. */
async function isOurs(folder: string): Promise<boolean> {
  const found = await lstat(folder).catch(() => null);
  return found?.isDirectory() === true && (process.getuid === undefined || found.uid === process.getuid());
}

function isThere(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}

/** Removes what dead instances left. Returns how many containers that were. */
export async function sweep(room: Room, engine: Engine): Promise<number> {
  const names = await reapContainers(engine, room.instance, room.living, room.removal);
  if (names === null) return 0;
  if (names.length > 0)
    room.logger.info({ count: names.length, engine: engine.traits.name }, "Removed containers that were left behind");
  while (names.some((name) => room.removal.has(name))) await sleep(50);
  // The folders last: as long as they are there, the next start knows that something was left.
  await reapFolders(room.instance);
  return names.length;
}
