import { SkillError } from "../errors.js";
import type { Logger, SandboxConfig } from "../types.js";
import { parseImageReference } from "./image-reference.js";
import { parseLimits } from "./limits.js";

/** Settings of a sandbox. */
export interface SandboxOptions {
  /** `docker` or `podman`. Default: `SKILLS_SANDBOX_RUNTIME`, else the first engine that answers. */
  readonly runtime?: string | undefined;
  /** Images that may be used: `repository`, `repository:tag`, `repository@digest` or an image's id. Default: all. */
  readonly images?: readonly string[] | undefined;
  /** Variables of the server that container skills may read with `fromEnv`. Default: none. */
  readonly allowEnv?: readonly string[] | undefined;
  /** Run even where the engine ignores memory, CPU or process limits. Default false. */
  readonly allowUnenforcedLimits?: boolean | undefined;
  /** Containers running at once, 1 to 10,000. Default 8. */
  readonly maxConcurrent?: number | undefined;
  /** Calls that wait for a place, 0 to 100,000. Default 100. */
  readonly maxQueued?: number | undefined;
  /** How long a call may wait for a place, in milliseconds. Default 10 000. */
  readonly queueTimeoutMs?: number | undefined;
  /** How long an image may take to be fetched, in milliseconds. Default 300 000. */
  readonly pullTimeoutMs?: number | undefined;
  /** Containers started ahead for all skills together, 0 to 1,000. Default 16. */
  readonly maxSlots?: number | undefined;
  /** How long a container started ahead may wait for work, in milliseconds. Default 600 000. */
  readonly slotIdleMs?: number | undefined;
  /** Limits of runs that do not state their own. */
  readonly defaults?: SandboxConfig | undefined;
  /** Which application this is: its instances on one machine clean up after each other. Default: the working directory. */
  readonly owner?: string | undefined;
  readonly logger?: Logger | undefined;
  /** The server's environment. Default `process.env`. */
  readonly environment?: NodeJS.ProcessEnv | undefined;
}

const ranges = {
  maxConcurrent: [1, 10_000, 8],
  maxQueued: [0, 100_000, 100],
  queueTimeoutMs: [1, 2 ** 31 - 1, 10_000],
  pullTimeoutMs: [1, 2 ** 31 - 1, 300_000],
  maxSlots: [0, 1000, 16],
  slotIdleMs: [1, 2 ** 31 - 1, 600_000],
} as const;

type RangedOption = keyof typeof ranges;

/** The sandbox's settings, complete. @throws `INVALID_OPTION`, `INVALID_IMAGE` */
export function parseSandboxOptions(options: SandboxOptions) {
  const ranged = Object.fromEntries(
    (Object.keys(ranges) as RangedOption[]).map((key) => [key, parseRanged(key, options[key])]),
  ) as Record<RangedOption, number>;
  for (const key of ["runtime", "owner"] as const) check(key, options, (value) => typeof value === "string", "a string");
  check("allowUnenforcedLimits", options, (value) => typeof value === "boolean", "true or false");
  // The letters of a text would be taken for a list.
  for (const key of ["images", "allowEnv"] as const) check(key, options, Array.isArray, "a list of strings");
  for (const image of options.images ?? []) parseImageReference(image);
  for (const name of options.allowEnv ?? []) {
    if (typeof name !== "string" || !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
      throw new SkillError("INVALID_OPTION", `sandbox.allowEnv has ${JSON.stringify(name)}, which is no variable's name.`);
  }
  const environment = options.environment ?? process.env;
  return {
    ...ranged,
    runtime: options.runtime ?? (environment["SKILLS_SANDBOX_RUNTIME"] || undefined),
    images: options.images,
    allowEnv: new Set(options.allowEnv ?? []),
    allowUnenforcedLimits: options.allowUnenforcedLimits ?? false,
    defaults: parseLimits(options.defaults === undefined ? {} : options.defaults),
    owner: options.owner ?? process.cwd(),
    environment,
  };
}

function check(key: keyof SandboxOptions, options: SandboxOptions, isValid: (value: unknown) => boolean, what: string): void {
  if (options[key] !== undefined && !isValid(options[key]))
    throw new SkillError("INVALID_OPTION", `sandbox.${key} must be ${what}.`);
}

function parseRanged(key: RangedOption, value: number | undefined): number {
  const [low, high, byDefault] = ranges[key];
  if (value === undefined) return byDefault;
  if (Number.isInteger(value) && value >= low && value <= high) return value;
  throw new SkillError("INVALID_OPTION", `sandbox.${key} is ${value}; it must be a whole number from ${low} to ${high}.`);
}
