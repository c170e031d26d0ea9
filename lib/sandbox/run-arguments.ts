import type { ContainerEnvironment } from "./container-environment.js";
import type { Engine } from "./engine-table.js";
import type { Limits } from "./limits.js";

export interface RunArguments {
  readonly engine: Engine;
  readonly name: string;
  readonly labels: readonly string[];
  readonly imageId: string;
  readonly volumes: readonly string[];
  readonly command: readonly string[];
  readonly environment: ContainerEnvironment;
  readonly limits: Limits;
  /** The engine's name of the network. */
  readonly network: string;
  /** Folder on the server with the files, and the names in it that are mounted. */
  readonly mounts: { readonly folder: string; readonly names: readonly string[] } | null;
  /** File on the server that becomes `/etc/hosts`. */
  readonly hostsFile: string | null;
  /** Where the engine writes the program's process id when it starts. */
  readonly pidFile: string | null;
}

export const containerHostname = "sandbox";

/** The arguments of the engine's `run`: every protection is stated, and the image's own settings are overridden. */
export function runArguments(run: RunArguments): string[] {
  const { engine, limits } = run;
  return [
    "run",
    `--name=${run.name}`,
    ...run.labels.map((label) => `--label=${label}`),
    "--interactive",
    "--pull=never",
    "--log-driver=none",
    "--sig-proxy=false",
    ...isolation(limits, run.network),
    ...writableFolders(run),
    ...resources(limits),
    "--entrypoint=",
    "--no-healthcheck",
    "--stop-signal=SIGKILL",
    ...engine.traits.runFlags,
    ...mounts(run),
    ...(run.pidFile === null ? [] : [`--pidfile=${run.pidFile}`]),
    ...(limits.runtime === null ? [] : [`--runtime=${limits.runtime}`]),
    ...addedVariables(run),
    ...run.environment.flags,
    ...limits.engineArgs,
    "--",
    run.imageId,
    ...run.command,
  ];
}

function isolation(limits: Limits, network: string): string[] {
  return [
    ...(limits.readOnly ? ["--read-only"] : []),
    "--cap-drop=ALL",
    "--security-opt=no-new-privileges",
    `--network=${network}`,
    "--cgroupns=private",
    "--ipc=private",
    `--hostname=${containerHostname}`,
    `--user=${limits.uid}:${limits.gid}`,
    `--workdir=${limits.workdir}`,
  ];
}

/** The folders a program may write, each of a known size: ours, and those that the image declares as volumes. */
function writableFolders({ engine, limits, volumes }: RunArguments): string[] {
  const owner = engine.traits.tmpfsOptions(limits.uid, limits.gid);
  const options = `rw,size=${limits.tmpfsMb}m,noexec,nosuid,nodev,mode=1777,${owner}`;
  const folders = new Set(["/tmp", "/workspace", ...volumes]);
  return [...[...folders].map((folder) => `--tmpfs=${folder}:${options}`), `--shm-size=${limits.tmpfsMb}m`];
}

/** A colon or a comma would be read as a mount option; an image can declare what it likes. */
export function isPlainFolder(folder: string): boolean {
  return /^\/[\w@+./-]*[\w@+.-]$/.test(folder) && !folder.split("/").includes("..");
}

function resources(limits: Limits): string[] {
  return [
    // Engines refuse more than nine decimal places.
    `--cpus=${Number(limits.cpus.toFixed(3))}`,
    `--memory=${limits.memoryMb}m`,
    // Swap counts as memory; without this flag the container gets as much again.
    `--memory-swap=${limits.memoryMb}m`,
    `--pids-limit=${limits.pidsLimit}`,
  ];
}

function mounts({ engine, mounts: files, hostsFile, limits }: RunArguments): string[] {
  const mode = engine.selinux ? "ro,Z" : "ro";
  const workdir = limits.workdir.replace(/\/+$/, "");
  return [
    ...(files === null ? [] : files.names.map((name) => `--volume=${files.folder}/${name}:${workdir}/${name}:${mode}`)),
    ...(hostsFile === null ? [] : [`--volume=${hostsFile}:/etc/hosts:${engine.selinux ? "ro,z" : "ro"}`]),
  ];
}

/** A name without a value removes what the client's configuration would add. */
function addedVariables({ engine, environment }: RunArguments): string[] {
  const given = new Set(environment.flags.map((flag) => flag.split("=", 1)[0]));
  return engine.traits.addedVariables.filter((name) => !given.has(name)).flatMap((name) => ["--env", name]);
}
