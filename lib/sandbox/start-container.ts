import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { SkillError } from "../errors.js";
import { orAborted } from "./abort.js";
import { type Container, launchContainer } from "./container.js";
import type { ContainerEnvironment } from "./container-environment.js";
import type { Engine } from "./engine-table.js";
import { type Files, topLevelNames, writeFiles } from "./files.js";
import type { ResolvedImage } from "./images.js";
import { containerLabels, nextContainerName } from "./instance.js";
import type { Limits } from "./limits.js";
import { hostsFileName, type Room } from "./room.js";
import { isPlainFolder, runArguments } from "./run-arguments.js";

export interface StartRequest {
  readonly engine: Engine;
  readonly image: ResolvedImage;
  readonly command: readonly string[];
  readonly environment: ContainerEnvironment;
  readonly limits: Limits;
  readonly files: Files | undefined;
  /** The caller who waits for the start. */
  readonly signal?: AbortSignal | undefined;
  /** After this nobody can need the container, whoever has forgotten it. */
  readonly lifetimeMs: number;
}

export interface StartedContainer {
  readonly container: Container;
  /** Working directory of the command line program. */
  readonly cwd: string;
  /** Gives everything back: the container is removed in the background. Resolves when it no longer runs. */
  release(): Promise<void>;
}

/** Starts a container and takes note of everything that must be given back. @throws `START_FAILED` `SHUTTING_DOWN` */
export async function startContainer(room: Room, request: StartRequest): Promise<StartedContainer> {
  const { engine, limits } = request;
  const deadlineMs = Date.now() + request.lifetimeMs;
  const name = nextContainerName(room.instance, deadlineMs);
  const odd = request.image.volumes.find((folder) => !isPlainFolder(folder));
  if (odd !== undefined) {
    throw new SkillError(
      "START_FAILED",
      `The image declares the volume ${JSON.stringify(odd)}, which cannot be covered: it would be writable without a limit.`,
    );
  }
  const network = await orAborted(room.networks.resolve(engine, limits.network), request.signal);
  const { instanceFolder, folder, cwd, filesFolder } = await makeRunFolder(room, name, request.files);
  if (room.life.aborted) {
    await rm(folder, { recursive: true, force: true }).catch(() => {});
    throw new SkillError("SHUTTING_DOWN", "The sandbox is closed.");
  }
  const local = !engine.remote;
  const pidFile = engine.traits.startEvidence === "pidfile" && local ? join(folder, "pid") : null;
  const args = runArguments({
    engine,
    name,
    labels: containerLabels(room.instance, deadlineMs),
    imageId: request.image.id,
    volumes: request.image.volumes,
    command: request.command,
    environment: request.environment,
    limits,
    network,
    mounts: filesFolder === null ? null : { folder: filesFolder, names: topLevelNames(request.files ?? {}) },
    hostsFile: engine.traits.copiesHosts && local ? join(instanceFolder, hostsFileName) : null,
    pidFile,
  });
  room.living.set(name, null);
  const container = launchContainer({
    engine,
    name,
    args,
    variables: request.environment.variables,
    limits,
    cwd,
    pidFile,
    events: room.events,
  });
  room.living.set(name, container);
  return { container, cwd, release: () => trackRelease(room, release(room, container, folder)) };
}

function trackRelease(room: Room, releasing: Promise<void>): Promise<void> {
  room.releasing.add(releasing);
  return releasing.finally(() => room.releasing.delete(releasing));
}

async function release(room: Room, container: Container, folder: string): Promise<void> {
  const doubtful = await container.gone;
  room.removal.remove(container.engine, container.name, doubtful);
  room.living.delete(container.name);
  await rm(folder, { recursive: true, force: true }).catch(() => {});
}

async function makeRunFolder(room: Room, name: string, files: Files = {}) {
  let folder: string | null = null;
  try {
    const instanceFolder = await room.folder();
    folder = join(instanceFolder, name.slice(name.lastIndexOf("-") + 1));
    // Engines leave files in the working directory of their command line program, so it has nothing else in it.
    const cwd = join(folder, "cwd");
    await mkdir(cwd, { recursive: true, mode: 0o700 });
    const filesFolder = Object.keys(files).length === 0 ? null : join(folder, "files");
    if (filesFolder !== null) await writeFiles(files, filesFolder);
    return { instanceFolder, folder, cwd, filesFolder };
  } catch (error) {
    if (folder !== null) await rm(folder, { recursive: true, force: true }).catch(() => {});
    const reason = error instanceof Error ? error.message : String(error);
    throw new SkillError("START_FAILED", `The run's temp folder could not be made: ${reason}`, { cause: error });
  }
}
