import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
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
      folder ??= makeFolder(parts.instance).catch((error: unknown) => {
        folder = null;
        throw error;
      });
      return folder;
    },
    async removeFolder() {
      if (folder !== null) await rm(instanceFolder(parts.instance), { recursive: true, force: true }).catch(() => {});
      folder = null;
    },
  };
}

export const hostsFileName = "hosts";

async function makeFolder(instance: Instance): Promise<string> {
  const folder = instanceFolder(instance);
  // Other users of the machine must not read what skills are given.
  await mkdir(folder, { mode: 0o700 });
  await writeFile(join(folder, hostsFileName), `127.0.0.1 localhost\n::1 localhost\n127.0.0.1 ${containerHostname}\n`, {
    mode: 0o444,
  });
  return folder;
}

/** Removes what dead instances left. Returns how many containers that were. */
export async function sweep(room: Room, engine: Engine): Promise<number> {
  await reapFolders(room.instance);
  const count = await reapContainers(engine, room.instance, room.living, room.removal);
  if (count > 0) room.logger.info({ count, engine: engine.traits.name }, "Removed containers that were left behind");
  return count;
}
