import { type Cli, type CliOutcome, runCli } from "./cli.js";
import type { Engine } from "./engine-table.js";
import { engineTable } from "./engine-table.js";

/** How long a server may take to answer. */
const probeLimitMs = 5000;

export type Probe = { readonly engine: Engine } | { readonly reason: string };

/**
 * Asks the engine's server what it is. A command line program without a server behind it is no engine: the reason says which of
 * the four it was (not installed, no server, no permission, no answer).
 */
export async function probeEngine(cli: Cli, limitMs = probeLimitMs): Promise<Probe> {
  const [version, info] = await Promise.all([
    runCli(cli, ["version", "--format", "{{json .}}"], limitMs),
    runCli(cli, ["info", "--format", "{{json .}}"], limitMs),
  ]);
  if (version.code !== 0) return { reason: failureReason(cli, version, limitMs) };
  const said = parseObject(version.stdout);
  const facts = parseObject(info.code === 0 ? info.stdout : "");
  const client = objectAt(said, "Client");
  const server = objectAt(said, "Server");
  // Podman without a remote service has no server part; it is known by its own version fields.
  const isPodmanItself = server === null && client !== null && "OsArch" in client;
  if (server === null && !isPodmanItself) return { reason: failureReason(cli, { ...version, code: 1 }, limitMs) };
  return {
    engine: isPodmanItself || objectAt(facts, "host") !== null ? fromPodman(cli, said, facts) : fromDocker(cli, said, facts),
  };
}

const dockerLimits = [
  { key: "MemoryLimit", limit: "memory" },
  { key: "CpuCfsQuota", limit: "cpu" },
  { key: "PidsLimit", limit: "pids" },
] as const;

function fromDocker(cli: Cli, said: Fields | null, facts: Fields | null): Engine {
  const server = objectAt(said, "Server");
  const components = arrayAt(server, "Components").map((component) => textAt(asObject(component), "Name"));
  const security = arrayAt(facts, "SecurityOptions").map(String);
  const missing = dockerLimits.filter(({ key }) => facts?.[key] === false);
  return {
    ...cli,
    version: textAt(server, "Version") ?? "unknown",
    server: components.includes("Podman Engine") ? "podman" : "docker",
    rootless: security.some((option) => option.includes("rootless")),
    remote: /^(tcp|ssh|https?):/.test(cli.environment()["DOCKER_HOST"] ?? ""),
    selinux: security.some((option) => option.includes("selinux")),
    cpus: numberAt(facts, "NCPU"),
    unenforced: missing.map(({ limit }) => limit),
    warnings: missing.map(({ key }) => `The engine says that it does not support ${key}.`),
  };
}

function fromPodman(cli: Cli, said: Fields | null, facts: Fields | null): Engine {
  const host = objectAt(facts, "host");
  const security = objectAt(host, "security");
  const controllers = host?.["cgroupControllers"];
  // An engine that does not list them says nothing.
  const missing = Array.isArray(controllers)
    ? (["memory", "cpu", "pids"] as const).filter((name) => !controllers.includes(name))
    : [];
  return {
    ...cli,
    // `docker` can be a link to podman, with podman's flags.
    traits: engineTable.podman,
    version: textAt(objectAt(said, "Server") ?? objectAt(said, "Client"), "Version") ?? "unknown",
    server: "podman",
    rootless: security?.["rootless"] === true,
    remote: host?.["serviceIsRemote"] === true,
    selinux: security?.["selinuxEnabled"] === true,
    cpus: numberAt(host, "cpus"),
    unenforced: missing,
    warnings: missing.map((name) => `The engine has no control over ${name} (cgroup controller not delegated).`),
  };
}

function failureReason(cli: Cli, outcome: CliOutcome, limitMs: number): string {
  if (outcome.startError === "ENOENT") return `${cli.binary} is not installed, or not on the PATH`;
  if (outcome.startError !== null) return `${cli.binary} could not be started (${outcome.startError})`;
  if (outcome.timedOut) return `${cli.binary} is installed, but its engine did not answer within ${limitMs} ms`;
  const text = lastLine(outcome.stderr) ?? lastLine(outcome.stdout) ?? `exit code ${outcome.code}`;
  if (/permission denied|access is denied/i.test(outcome.stderr)) {
    return `${cli.binary} is installed, but this user may not use its engine: ${text}`;
  }
  return `${cli.binary} is installed, but no engine answers: ${text}`;
}

export function lastLine(text: string): string | null {
  const lines = text.split("\n").filter((line) => line.trim() !== "" && !/^(See|Run) '/.test(line));
  return lines.at(-1)?.trim().slice(0, 500) ?? null;
}

type Fields = Record<string, unknown>;

function parseObject(text: string): Fields | null {
  try {
    return asObject(JSON.parse(text));
  } catch {
    return null;
  }
}

function asObject(value: unknown): Fields | null {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : null;
}

function objectAt(fields: Fields | null, key: string): Fields | null {
  return asObject(fields?.[key]);
}

function arrayAt(fields: Fields | null, key: string): readonly unknown[] {
  const value = fields?.[key];
  return Array.isArray(value) ? value : [];
}

function textAt(fields: Fields | null, key: string): string | null {
  const value = fields?.[key];
  return typeof value === "string" ? value : null;
}

function numberAt(fields: Fields | null, key: string): number | null {
  const value = fields?.[key];
  return typeof value === "number" ? value : null;
}
