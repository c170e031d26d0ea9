import { checkKeys, SkillError, type SkillsKit } from "../../lib/index.js";
import type { Authorize } from "./roles.js";

export interface SkillsApiOptions {
  /**
   * Says who sent a request and what they may do: `{ apiKeyId, role }` with a role of `admin`, `operator` or `caller`, or `null` for nobody (401).
   * May be async; runs once per request, before anything else is read of it. What it throws is answered as problem details.
   */
  readonly authorize: Authorize;
  /** The kit. Default: the one that `skills()` attached to the request. */
  readonly kit?: SkillsKit | undefined;
  /** The largest body that is read, 256 to 104,857,600 bytes. Default 102,400. A parser of the application that runs before has its own limit. */
  readonly maxBodyBytes?: number | undefined;
  /** Event streams that may be open at once, 1 to 100,000. Default 1,000. */
  readonly maxStreams?: number | undefined;
}

export interface SkillsApiConfig {
  readonly authorize: Authorize;
  readonly kit: SkillsKit | undefined;
  readonly maxBodyBytes: number;
  readonly maxStreams: number;
}

const OPTIONS = Object.keys({
  authorize: true,
  kit: true,
  maxBodyBytes: true,
  maxStreams: true,
} satisfies Record<keyof SkillsApiOptions, true>);

/** @throws INVALID_OPTION */
export function parseApiOptions(options: SkillsApiOptions): SkillsApiConfig {
  checkKeys("options of skillsApi()", options ?? {}, OPTIONS);
  const { authorize, kit, maxBodyBytes = 102_400, maxStreams = 1_000 } = options ?? {};
  if (typeof authorize !== "function") {
    const example = "authorize: (req) => ({ apiKeyId, role })";
    throw new SkillError(
      "INVALID_OPTION",
      `skillsApi() needs the option ${example}: it says who may do what, and there is no default.`,
    );
  }
  if (kit !== undefined && (kit?.registry === undefined || kit.executor === undefined))
    throw new SkillError("INVALID_OPTION", "The option kit of skillsApi() must be what skills() or createSkills() returned.");
  checkCount("maxBodyBytes", maxBodyBytes, 256, 104_857_600);
  checkCount("maxStreams", maxStreams, 1, 100_000);
  return Object.freeze({ authorize, kit, maxBodyBytes, maxStreams });
}

function checkCount(name: string, value: unknown, min: number, max: number): void {
  if (Number.isInteger(value) && (value as number) >= min && (value as number) <= max) return;
  throw new SkillError("INVALID_OPTION", `The option ${name} of skillsApi() must be a whole number from ${min} to ${max}.`);
}
