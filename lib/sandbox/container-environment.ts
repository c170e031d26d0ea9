import { SkillError } from "../errors.js";

/** The kernel's limit of one argument or variable on Linux (MAX_ARG_STRLEN), less its name, `=` and the closing zero. */
const maxArgumentBytes = 128 * 1024 - 1;
/** Arguments and environment together share a quarter of the stack limit, usually 2 MiB. */
const maxArgumentsBytes = 1024 * 1024;

export interface ContainerEnvironment {
  /** `--env NAME` for most, `--env NAME=value` for those that would steer the command line program. */
  readonly flags: readonly string[];
  /** Values of the name-only flags, for the command line program's own environment. */
  readonly variables: Readonly<Record<string, string>>;
}

const steering =
  /^(PATH|HOME|USER|LOGNAME|SHELL|PWD|OLDPWD|TMP|TEMP|TMPDIR|TERM|LANG|LANGUAGE|TZ|HOSTNAME|HOSTALIASES|LOCALDOMAIN|RES_OPTIONS|ENV|IFS|CDPATH|PATHEXT|COMSPEC|SYSTEMROOT|SYSTEMDRIVE|WINDIR|USERPROFILE|APPDATA|LOCALAPPDATA|PROGRAMDATA|PROGRAMFILES|NOTIFY_SOCKET|LISTEN_[A-Z]+|NODE_OPTIONS|[A-Z]+_PROXY|(LD|LC|GO|GLIBC|MALLOC|DOCKER|MOBY|BUILDKIT|BUILDX|COMPOSE|CONTAINER|CONTAINERS|PODMAN|BUILDAH|STORAGE|REGISTRY|REGISTRIES|LIBPOD|CONMON|CNI|NETAVARK|XDG|SSL|SSH|GPG|DBUS|BASH|OTEL|SYSTEMD|CGO|GRPC|HTTP|HTTPS|TMPFS|_CONTAINERS|_LIBPOD|_PODMAN)(_.*|[A-Z].*)?)$/;

/**
 * Checks a container's variables and decides how each one travels. Name-only flags keep values byte-exact and out of the
 * machine's process list; a name that the command line program, its loader or its runtime reads goes as `NAME=value` in the
 * arguments, where every user of the machine can see it.
 */
export function parseContainerEnvironment(env: Readonly<Record<string, string>>): ContainerEnvironment {
  if (typeof env !== "object" || env === null || Array.isArray(env)) {
    throw new SkillError("INVALID_ENV", "env must be an object of strings.");
  }
  const flags: string[] = [];
  const variables: Record<string, string> = Object.create(null);
  let bytes = 0;
  for (const [name, value] of Object.entries(env)) {
    checkVariable(name, value);
    const size = Buffer.byteLength(value) + name.length + 2;
    if (size > maxArgumentBytes) {
      throw new SkillError(
        "ENV_TOO_LARGE",
        `env.${name} has ${size} bytes with its name; at most ${maxArgumentBytes} are possible. Send large data as stdin or files.`,
      );
    }
    bytes += size;
    if (steering.test(name.toUpperCase())) {
      flags.push("--env", `${name}=${value}`);
    } else {
      flags.push("--env", name);
      variables[name] = value;
    }
  }
  if (bytes > maxArgumentsBytes) {
    throw new SkillError("ENV_TOO_LARGE", `env has ${bytes} bytes in all; at most ${maxArgumentsBytes} are possible.`);
  }
  return { flags, variables };
}

function checkVariable(name: string, value: unknown): asserts value is string {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
    throw new SkillError(
      "INVALID_ENV",
      `env has the name ${JSON.stringify(name.slice(0, 80))}; a name is a letter or _, then letters, digits and _.`,
    );
  }
  if (typeof value !== "string") throw new SkillError("INVALID_ENV", `env.${name} must be a string.`);
  if (value.includes("\0")) throw new SkillError("INVALID_ENV", `env.${name} contains a zero byte, which no variable can hold.`);
}

/** Checks a container's command: at least one argument, no zero bytes, sizes that the kernel takes. */
export function validateCommand(command: readonly string[]): void {
  if (!Array.isArray(command) || command.length === 0) {
    throw new SkillError(
      "INVALID_COMMAND",
      'The command must be an array with at least one string, such as ["node", "main.js"].',
    );
  }
  let bytes = 0;
  for (const [index, argument] of command.entries()) {
    if (typeof argument !== "string") throw new SkillError("INVALID_COMMAND", `command[${index}] must be a string.`);
    if (argument.includes("\0")) throw new SkillError("INVALID_COMMAND", `command[${index}] contains a zero byte.`);
    const size = Buffer.byteLength(argument) + 1;
    if (size > maxArgumentBytes) {
      throw new SkillError(
        "ENV_TOO_LARGE",
        `command[${index}] has ${size} bytes; at most ${maxArgumentBytes} are possible. Send large data as stdin or files.`,
      );
    }
    bytes += size;
  }
  if (bytes > maxArgumentsBytes) {
    throw new SkillError("ENV_TOO_LARGE", `The command has ${bytes} bytes; at most ${maxArgumentsBytes} are possible.`);
  }
  if (command[0] === "") throw new SkillError("INVALID_COMMAND", "command[0] is empty; it must name a program.");
}
