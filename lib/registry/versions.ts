import semver, { type Range, type SemVer } from "semver";
import { SkillError } from "../errors.js";
import type { SkillHead } from "../types.js";
import { isExactVersion, LATEST } from "./reference.js";

/** Resolved ranges that one name remembers; ranges come from callers, so there must be an end. */
const MAX_RESOLVED = 64;
/** Versions that a message lists. */
const MAX_LISTED = 5;

interface Version {
  readonly head: SkillHead;
  readonly parsed: SemVer;
}

/** The versions of one name of one owner, newest first. */
export class SkillVersions {
  readonly #versions: Version[] = [];
  readonly #exact = new Map<string, SkillHead>();
  /** What each range resolved to; made when first needed, dropped at every change. Failures are not remembered. */
  #resolved: Map<string, SkillHead> | undefined;

  get size(): number {
    return this.#versions.length;
  }

  heads(): SkillHead[] {
    return this.#versions.map(({ head }) => head);
  }

  /** Newest first; the version itself need not exist. */
  olderThan(version: string): SkillHead[] {
    const at = this.#position(new semver.SemVer(version));
    return this.heads().slice(this.#exact.has(version) ? at + 1 : at);
  }

  get(version: string): SkillHead | undefined {
    return this.#exact.get(version);
  }

  put(head: SkillHead): void {
    this.#resolved = undefined;
    const parsed = new semver.SemVer(head.version);
    const at = this.#position(parsed);
    const replaces = this.#versions[at]?.head.version === head.version ? 1 : 0;
    this.#versions.splice(at, replaces, { head, parsed });
    this.#exact.set(head.version, head);
  }

  remove(version: string): void {
    this.#resolved = undefined;
    if (!this.#exact.delete(version)) return;
    this.#versions.splice(this.#position(new semver.SemVer(version)), 1);
  }

  /**
   * The highest enabled version in the range.
   * @throws SKILL_NOT_FOUND saying which versions exist; SKILL_DISABLED for an exact version, or when every version is disabled
   */
  resolve(name: string, range: string): SkillHead {
    const known = this.#resolved?.get(range);
    if (known !== undefined) return known;
    const found = this.#find(range);
    if (found === undefined || !found.enabled) throw this.#nothing(name, range, found);
    this.#remember(range, found);
    return found;
  }

  #find(range: string): SkillHead | undefined {
    if (isExactVersion(range)) return this.#exact.get(range);
    const within = matcher(range);
    return this.#versions.find(({ head, parsed }) => head.enabled && within(parsed))?.head;
  }

  #remember(range: string, head: SkillHead): void {
    this.#resolved ??= new Map();
    if (this.#resolved.size >= MAX_RESOLVED) {
      for (const oldest of this.#resolved.keys()) {
        this.#resolved.delete(oldest);
        break;
      }
    }
    this.#resolved.set(range, head);
  }

  #nothing(name: string, range: string, exact: SkillHead | undefined): SkillError {
    if (exact !== undefined) return new SkillError("SKILL_DISABLED", `${name}@${range} is disabled.`);
    if (this.#versions.every(({ head }) => !head.enabled)) {
      const what = this.size === 1 ? "its only version" : `each of its ${this.size} versions`;
      return new SkillError(
        "SKILL_DISABLED",
        `The skill ${name} is disabled: ${what}${this.size === 1 ? ` ${this.heads()[0]?.version}` : ""} is disabled.`,
      );
    }
    const asked =
      range === LATEST ? "no enabled version that is no prerelease" : `no version that matches ${JSON.stringify(range)}`;
    return new SkillError("SKILL_NOT_FOUND", `The skill ${name} has ${asked}: ${this.#whatExists(range)}.`);
  }

  /** What would have matched comes first: that is what the caller was after. */
  #whatExists(range: string): string {
    const near = nearMatcher(range);
    const ordered = [
      ...this.#versions.filter(({ parsed }) => near(parsed)),
      ...this.#versions.filter(({ parsed }) => !near(parsed)),
    ];
    const listed = ordered.slice(0, MAX_LISTED).map(describe);
    const more = ordered.length - listed.length;
    return listed.join("; ") + (more > 0 ? `; and ${more} more` : "");
  }

  /** Where the version is or belongs. */
  #position(parsed: SemVer): number {
    let low = 0;
    let high = this.#versions.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#versions[middle] as Version).parsed.compare(parsed) > 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function matcher(range: string): (version: SemVer) => boolean {
  if (range === LATEST) return (version) => version.prerelease.length === 0;
  const parsed = new semver.Range(range);
  return (version) => parsed.test(version);
}

/** Matches what the range would match if neither disabled versions nor prereleases were left out. */
function nearMatcher(range: string): (version: SemVer) => boolean {
  if (range === LATEST || isExactVersion(range)) return () => true;
  const parsed: Range = new semver.Range(range, { includePrerelease: true });
  return (version) => parsed.test(version);
}

function describe({ head, parsed }: Version): string {
  const disabled = head.enabled ? "" : " is disabled";
  if (parsed.prerelease.length === 0) return `${head.version}${disabled || " exists"}`;
  return head.enabled ? `${head.version} exists but is a prerelease` : `${head.version} is a prerelease and disabled`;
}
