/** What differs between engines. A further engine is a row here. */

export interface EngineTraits {
  readonly name: string;
  /** The command line program. */
  readonly binary: string;
  /** Before the subcommand. */
  readonly globalFlags: readonly string[];
  /** Flags of `run` that only this engine has or needs for the same protection. */
  readonly runFlags: readonly string[];
  /** Further mount options of a tmpfs that a user other than root can write. */
  tmpfsOptions(uid: string, gid: string): string;
  /** How to learn that the program started without asking again and again. */
  readonly startEvidence: "events" | "pidfile";
  /** Leaves an empty file `oom` in the working directory of the command line program after a memory kill. */
  readonly leavesOomFile: boolean;
  /** Writes the server's own `/etc/hosts` into the container unless another file is mounted there. */
  readonly copiesHosts: boolean;
  /** Short image names are not looked up in a registry: a pull must name Docker Hub. */
  readonly pullsQualifiedNamesOnly: boolean;
  /** The command line program itself fetches images, and not a server with settings of its own. */
  readonly fetchesItself: boolean;
  /** Variables that the client's own configuration would add to every container. */
  readonly addedVariables: readonly string[];
}

const proxyVariables = ["HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "NO_PROXY", "ALL_PROXY"];

export const engineTable = {
  docker: {
    name: "docker",
    binary: "docker",
    globalFlags: [],
    runFlags: [],
    // runc gives a tmpfs over an existing folder that folder's mode, so the mode alone does not open it.
    tmpfsOptions: (uid, gid) => `uid=${uid},gid=${gid}`,
    startEvidence: "events",
    leavesOomFile: false,
    copiesHosts: false,
    pullsQualifiedNamesOnly: false,
    fetchesItself: false,
    addedVariables: [...proxyVariables, ...proxyVariables.map((name) => name.toLowerCase())],
  },
  podman: {
    name: "podman",
    binary: "podman",
    // Its warnings would be mixed into the program's stderr.
    globalFlags: ["--log-level=error"],
    runFlags: ["--http-proxy=false", "--read-only-tmpfs=false", "--image-volume=ignore", "--no-hosts"],
    tmpfsOptions: () => "notmpcopyup",
    startEvidence: "pidfile",
    leavesOomFile: true,
    copiesHosts: true,
    pullsQualifiedNamesOnly: true,
    fetchesItself: true,
    addedVariables: [],
  },
} as const satisfies Record<string, EngineTraits>;

export type EngineName = keyof typeof engineTable;

export const engineNames = Object.keys(engineTable) as EngineName[];

export function isEngineName(value: string): value is EngineName {
  return Object.hasOwn(engineTable, value);
}

/** The order in which engines are tried when none is named. */
export function engineOrder(platform: NodeJS.Platform): readonly EngineName[] {
  return platform === "linux" ? ["podman", "docker"] : ["docker", "podman"];
}

/** An engine that answered. */
export interface Engine {
  readonly traits: EngineTraits;
  readonly binary: string;
  /** The environment of its command line program; read at every start. */
  environment(): Record<string, string>;
  /** The server's proxies, for fetching images. */
  proxies(): Record<string, string>;
  /** Version of the server. */
  readonly version: string;
  /** What the server says it is: `docker` may speak to podman. */
  readonly server: string;
  readonly rootless: boolean;
  /** Whether the engine runs on another machine, or in a virtual one, as far as it says so. */
  readonly remote: boolean;
  /** Whether files that are mounted need a new SELinux label. */
  readonly selinux: boolean;
  /** Processors of the engine; `null` when it did not say. */
  readonly cpus: number | null;
  /** Limits that the engine itself says it cannot enforce. */
  readonly unenforced: readonly ("memory" | "cpu" | "pids")[];
  /** What the engine itself says it cannot do. */
  readonly warnings: readonly string[];
}
