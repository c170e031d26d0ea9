import { type Fault, SkillError } from "../errors.js";
import type { SandboxConfig } from "../types.js";

/** What one container may use: complete and checked. */
export interface Limits {
  readonly cpus: number;
  readonly memoryMb: number;
  readonly timeoutMs: number;
  readonly startTimeoutMs: number;
  readonly readOnly: boolean;
  readonly network: string;
  readonly pidsLimit: number;
  readonly tmpfsMb: number;
  readonly uid: string;
  readonly gid: string;
  readonly workdir: string;
  readonly maxOutputBytes: number;
  readonly pull: "missing" | "never" | "always";
  readonly runtime: string | null;
  readonly engineArgs: readonly string[];
}

export const defaultLimits: Limits = {
  cpus: 1,
  memoryMb: 256,
  timeoutMs: 30_000,
  startTimeoutMs: 30_000,
  readOnly: true,
  network: "none",
  pidsLimit: 128,
  tmpfsMb: 64,
  uid: "65534",
  gid: "65534",
  workdir: "/workspace",
  maxOutputBytes: 1024 * 1024,
  pull: "missing",
  runtime: null,
  engineArgs: [],
};

const longestTimerMs = 2 ** 31 - 1;

// Engines read 0 as "no limit", and a number without a unit as bytes: every limit has a lower bound above 0.
const ranges = {
  cpus: { low: 0.01, high: 4096, whole: false },
  memoryMb: { low: 6, high: 1024 * 1024, whole: true },
  timeoutMs: { low: 1, high: longestTimerMs, whole: true },
  startTimeoutMs: { low: 1, high: longestTimerMs, whole: true },
  pidsLimit: { low: 1, high: 32_768, whole: true },
  tmpfsMb: { low: 1, high: 65_536, whole: true },
  maxOutputBytes: { low: 1, high: 100 * 1024 * 1024, whole: true },
} as const;

type RangedKey = keyof typeof ranges;

const otherKeys = [
  "readOnly",
  "network",
  "user",
  "workdir",
  "pull",
  "runtime",
  "engineArgs",
  "stdin",
  "files",
  "signal",
] as const;
const knownKeys: ReadonlySet<string> = new Set<string>([...Object.keys(ranges), ...otherKeys]);

/** Completes and checks a run's limits. @throws `INVALID_OPTION` with every fault. */
export function parseLimits(config: SandboxConfig, defaults: Limits = defaultLimits): Limits {
  const faults = limitFaults(config);
  if (faults.length > 0) {
    const list = faults.map((fault) => `${fault.pointer.slice(1) || "config"} ${fault.message}`).join("; ");
    throw new SkillError("INVALID_OPTION", `The limits of the container are not valid: ${list}.`, { faults });
  }
  const [uid = defaults.uid, gid = uid] = config.user?.split(":") ?? [defaults.uid, defaults.gid];
  return {
    cpus: config.cpus ?? defaults.cpus,
    memoryMb: config.memoryMb ?? defaults.memoryMb,
    timeoutMs: config.timeoutMs ?? defaults.timeoutMs,
    startTimeoutMs: config.startTimeoutMs ?? defaults.startTimeoutMs,
    readOnly: config.readOnly ?? defaults.readOnly,
    network: config.network ?? defaults.network,
    pidsLimit: config.pidsLimit ?? defaults.pidsLimit,
    tmpfsMb: config.tmpfsMb ?? defaults.tmpfsMb,
    uid,
    gid,
    workdir: config.workdir ?? defaults.workdir,
    maxOutputBytes: config.maxOutputBytes ?? defaults.maxOutputBytes,
    pull: config.pull ?? defaults.pull,
    runtime: config.runtime ?? defaults.runtime,
    engineArgs: [...defaults.engineArgs, ...(config.engineArgs ?? [])],
  };
}

/** Every fault of a run's limits, with JSON pointers into the config. */
export function limitFaults(config: SandboxConfig): Fault[] {
  if (typeof config !== "object" || config === null) return [{ pointer: "", message: "must be an object" }];
  const faults: Fault[] = [];
  for (const key of Object.keys(config)) {
    if (!knownKeys.has(key))
      faults.push({ pointer: `/${key}`, message: `is not known; the keys are ${[...knownKeys].join(", ")}` });
  }
  for (const key of Object.keys(ranges) as RangedKey[]) {
    const message = rangeFault(key, config[key]);
    if (message !== null) faults.push({ pointer: `/${key}`, message });
  }
  const check = (key: keyof SandboxConfig, isValid: (value: unknown) => boolean, message: string) => {
    if (config[key] !== undefined && !isValid(config[key])) faults.push({ pointer: `/${key}`, message });
  };
  check("readOnly", (value) => typeof value === "boolean", "must be true or false");
  check("network", isNetwork, 'must be "none", "internal" or the name of a network; "host" would end the isolation');
  check("user", isUser, 'must be numeric, "uid" or "uid:gid"');
  check("workdir", isWorkdir, "must be an absolute path of at most 255 letters, digits and . _ - /, without ..");
  check(
    "pull",
    (value) => value === "missing" || value === "never" || value === "always",
    'must be "missing", "never" or "always"',
  );
  check(
    "runtime",
    (value) => typeof value === "string" && /^[A-Za-z0-9][\w./-]{0,99}$/.test(value),
    "must be the name of an OCI runtime",
  );
  check("engineArgs", isFlags, "must be an array of flags, each with its value in the same string and none of them --");
  if (isFlags(config.engineArgs)) {
    const ours = (config.engineArgs as readonly string[]).find(isOurs);
    if (ours !== undefined)
      faults.push({
        pointer: "/engineArgs",
        message: `must not have ${ours.slice(0, 80)}: a run that has it cannot be followed, or ended`,
      });
  }
  check("signal", (value) => value instanceof AbortSignal, "must be an AbortSignal");
  check("stdin", isInput, "must be a string, a Uint8Array or an async iterable of Uint8Array");
  return faults;
}

function rangeFault(key: RangedKey, value: unknown): string | null {
  if (value === undefined) return null;
  const { low, high, whole } = ranges[key];
  const valid = typeof value === "number" && value >= low && value <= high && (!whole || Number.isInteger(value));
  return valid ? null : `must be ${whole ? "a whole number" : "a number"} from ${low} to ${high}`;
}

function isNetwork(value: unknown): boolean {
  return typeof value === "string" && /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/.test(value) && value !== "host";
}

function isUser(value: unknown): boolean {
  if (typeof value !== "string" || !/^\d{1,10}(:\d{1,10})?$/.test(value)) return false;
  return value.split(":").every((id) => Number(id) < 2 ** 32 - 1);
}

function isWorkdir(value: unknown): boolean {
  return typeof value === "string" && value.length <= 255 && /^\/[\w./-]*$/.test(value) && !value.split("/").includes("..");
}

function isFlags(value: unknown): boolean {
  return Array.isArray(value) && value.every((flag) => typeof flag === "string" && /^-{1,2}[A-Za-z][^\0]*$/.test(flag));
}

/** Flags on which it depends that a run can be followed, ended and removed. */
function isOurs(flag: string): boolean {
  return (
    /^--(name|detach|rm|restart|replace|cidfile|pidfile|tty|attach|pull|interactive|sig-proxy)(=|$)/.test(flag) ||
    /^(--label[= ]?|-[iPq]*l=?)express-skills\./.test(flag) ||
    /^-[iPq]*[dta]/.test(flag)
  );
}

function isInput(value: unknown): boolean {
  if (typeof value === "string" || value instanceof Uint8Array) return true;
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}
