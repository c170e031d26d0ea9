import { type Fault, isSkillError, SkillError } from "../errors.js";
import type { ContainerSpec } from "../types.js";
import { parseContainerEnvironment, validateCommand } from "./container-environment.js";
import { type Files, validateFiles } from "./files.js";
import { mayBeAllowed, parseImageReference } from "./image-reference.js";
import { type Limits, limitFaults, parseLimits } from "./limits.js";
import type { SandboxOptions } from "./options.js";

/** What definitions of container skills may ask for. */
export interface ContainerRules {
  /** Images that may be used; `undefined` is all. */
  readonly images?: SandboxOptions["images"];
  /** Variables of the server that may be read. */
  readonly allowEnv?: SandboxOptions["allowEnv"];
  /** The most that a definition of somebody else than the operator gets. */
  readonly defaults?: SandboxOptions["defaults"];
}

/** Definitions are kept in memory while they are used. */
const maxBytes = 1024 * 1024;
const maxWarm = 64;
/** All skills share the slots: one of somebody else must not take those of the others. */
const maxWarmOfRegistrants = 2;
const limitKeys = [
  "cpus",
  "memoryMb",
  "startTimeoutMs",
  "network",
  "pidsLimit",
  "tmpfsMb",
  "user",
  "workdir",
  "maxOutputBytes",
  "pull",
] as const satisfies readonly (keyof ContainerSpec)[];
const otherKeys = [
  "image",
  "command",
  "env",
  "files",
  "reply",
  "output",
  "warm",
] as const satisfies readonly (keyof ContainerSpec)[];
const knownKeys: ReadonlySet<string> = new Set([...limitKeys, ...otherKeys]);

/** Every fault of a skill's `container`, which must be JSON already, with JSON pointers into it. */
export function containerFaults(value: unknown): Fault[] {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [{ pointer: "", message: "must be an object" }];
  const spec = value as Partial<ContainerSpec>;
  const faults: Fault[] = [];
  for (const key of Object.keys(spec)) {
    if (!knownKeys.has(key))
      faults.push({ pointer: `/${key.slice(0, 100)}`, message: `is not known; the keys are ${[...knownKeys].join(", ")}` });
  }
  // The size alone can make the other checks slow.
  const bytes = Buffer.byteLength(JSON.stringify(spec));
  if (bytes > maxBytes) return [...faults, { pointer: "", message: `has ${bytes} bytes; at most ${maxBytes} are possible` }];
  const check = (key: keyof ContainerSpec, validate: () => void) => faults.push(...faultOf(`/${key}`, validate));
  check("image", () => parseImageReference(spec.image as string));
  check("command", () => validateCommand(spec.command as readonly string[]));
  if (spec.env !== undefined) check("env", () => validateEnvironment(spec.env));
  if (spec.files !== undefined) check("files", () => validateFiles(spec.files as Files));
  faults.push(
    ...limitFaults(Object.fromEntries(limitKeys.filter((key) => spec[key] !== undefined).map((key) => [key, spec[key]]))),
  );
  if (spec.reply !== undefined && spec.reply !== "exit" && spec.reply !== "line")
    faults.push({ pointer: "/reply", message: 'must be "exit" or "line"' });
  if (spec.output !== undefined && spec.output !== "json" && spec.output !== "text")
    faults.push({ pointer: "/output", message: 'must be "json" or "text"' });
  const { warm = 0 } = spec;
  if (!Number.isInteger(warm) || warm < 0 || warm > maxWarm)
    faults.push({ pointer: "/warm", message: `must be a whole number from 0 to ${maxWarm}` });
  return faults;
}

/**
 * Refuses what the operator does not allow. A registrant, who is not the operator, needs an image of the list, and gets no network but
 * the sandbox's default, no root, no variable of the server, at most the sandbox's default limits and time, and few slots.
 * @param timeoutMs the skill's own time limit
 * @throws `IMAGE_NOT_ALLOWED`, `INVALID_DEFINITION`
 */
export function checkContainerAllowed(
  spec: ContainerSpec,
  rules: ContainerRules,
  isRegistrant: boolean,
  timeoutMs: number | undefined,
): void {
  const allowed = rules.images?.map(parseImageReference);
  if (allowed === undefined ? isRegistrant : !mayBeAllowed(allowed, parseImageReference(spec.image))) {
    const why = allowed === undefined ? ": no image is, as long as the option sandbox.images is not set" : "";
    throw new SkillError("IMAGE_NOT_ALLOWED", `The image ${spec.image} is not on the list of allowed images${why}.`);
  }
  const faults = isRegistrant
    ? excessOf(spec, timeoutMs, parseLimits(rules.defaults ?? {}))
    : Object.entries(spec.env ?? {}).flatMap(([name, value]) =>
        typeof value === "string" || rules.allowEnv?.includes(value.fromEnv)
          ? []
          : [{ pointer: `/container/env/${name}`, message: "asks for a variable of the server that is not in sandbox.allowEnv" }],
      );
  if (faults.length === 0) return;
  const list = faults.map(({ pointer, message }) => `${pointer} ${message}`).join("; ");
  throw new SkillError("INVALID_DEFINITION", `The definition asks for what is not allowed: ${list}.`, { faults });
}

/** What a registrant asks for that is the operator's alone, or over the sandbox's default limits. */
function excessOf(spec: ContainerSpec, timeoutMs: number | undefined, most: Limits): Fault[] {
  // What the operator's own skills may read would come out in the answer of anybody's.
  const faults: Fault[] = Object.entries(spec.env ?? {}).flatMap(([name, value]) =>
    typeof value === "string"
      ? []
      : [{ pointer: `/container/env/${name}`, message: "must not ask for a variable of the server" }],
  );
  for (const key of ["cpus", "memoryMb", "startTimeoutMs", "pidsLimit", "tmpfsMb", "maxOutputBytes"] as const) {
    const asked = spec[key];
    if (asked !== undefined && asked > most[key])
      faults.push({ pointer: `/container/${key}`, message: `must be at most ${most[key]}, the default of this server` });
  }
  // A program that never ends would hold a place that others wait for.
  if (timeoutMs !== undefined && timeoutMs > most.timeoutMs)
    faults.push({ pointer: "/timeoutMs", message: `must be at most ${most.timeoutMs}, the default of this server's containers` });
  if (spec.warm !== undefined && spec.warm > maxWarmOfRegistrants)
    faults.push({ pointer: "/container/warm", message: `must be at most ${maxWarmOfRegistrants}` });
  if (spec.network !== undefined && spec.network !== "none" && spec.network !== most.network)
    faults.push({
      pointer: "/container/network",
      message: `must be "none"${most.network === "none" ? "" : ` or "${most.network}"`}`,
    });
  if (spec.user?.split(":").some((id) => Number(id) === 0))
    faults.push({ pointer: "/container/user", message: "must not be root" });
  return faults;
}

function validateEnvironment(env: unknown): void {
  if (typeof env !== "object" || env === null || Array.isArray(env))
    throw new SkillError("INVALID_ENV", "env must be an object of strings and { fromEnv: NAME }.");
  const texts = Object.entries(env).map(([name, value]: [string, unknown]) => [name, isFromEnv(value) ? "" : value]);
  parseContainerEnvironment(Object.fromEntries(texts) as Record<string, string>);
}

function isFromEnv(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const { fromEnv } = value as { fromEnv?: unknown };
  return Object.keys(value).length === 1 && typeof fromEnv === "string" && /^[A-Za-z_][A-Za-z0-9_]*$/.test(fromEnv);
}

function faultOf(pointer: string, validate: () => void): Fault[] {
  try {
    validate();
    return [];
  } catch (error) {
    if (isSkillError(error)) return [{ pointer, message: `is not valid: ${error.message.replace(/\.$/, "")}` }];
    throw error;
  }
}
