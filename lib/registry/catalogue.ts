import { SkillError } from "../errors.js";
import { type SkillHead, SYSTEM_OWNER } from "../types.js";
import type { ParsedReference } from "./reference.js";
import { SkillVersions } from "./versions.js";

/** Every version that exists, without its content, in memory. What a look-up costs does not depend on how many there are. */
export class Catalogue {
  readonly #owners = new Map<string, Map<string, SkillVersions>>();
  readonly #byId = new Map<string, SkillHead>();

  get size(): number {
    return this.#byId.size;
  }

  get(id: string): SkillHead | undefined {
    return this.#byId.get(id);
  }

  put(head: SkillHead): void {
    const before = this.#byId.get(head.id);
    // Owner, name and version of a row never change, unless by hand.
    if (before !== undefined) this.remove(before.id);
    this.#byId.set(head.id, head);
    this.#versionsFor(head).put(head);
  }

  remove(id: string): void {
    const head = this.#byId.get(id);
    if (head === undefined) return;
    this.#byId.delete(id);
    const names = this.#owners.get(head.apiKeyId);
    const versions = names?.get(head.name);
    versions?.remove(head.version);
    if (versions?.size === 0) names?.delete(head.name);
    if (names?.size === 0) this.#owners.delete(head.apiKeyId);
  }

  clear(): void {
    this.#owners.clear();
    this.#byId.clear();
  }

  /**
   * The version that a caller means. A caller who owns any version of the name never sees those of `system`.
   * @throws SKILL_NOT_FOUND, SKILL_DISABLED
   */
  resolve({ name, range }: ParsedReference, caller: string): SkillHead {
    const versions = this.visible(name, caller);
    if (versions === undefined) throw new SkillError("SKILL_NOT_FOUND", `There is no skill ${name}.`);
    return versions.resolve(name, range);
  }

  /** The versions of a name that a caller sees. */
  visible(name: string, caller: string): SkillVersions | undefined {
    return this.owned(name, caller) ?? this.owned(name, SYSTEM_OWNER);
  }

  /** The versions of a name that belong to an owner. */
  owned(name: string, owner: string): SkillVersions | undefined {
    return this.#owners.get(owner)?.get(name);
  }

  /** Every head that a caller sees, or every head: by name, then owner, then newest first. */
  heads(caller?: string): SkillHead[] {
    const found: [string, string, SkillVersions][] = [];
    for (const [owner, names] of this.#owners) {
      if (caller !== undefined && owner !== caller && owner !== SYSTEM_OWNER) continue;
      for (const [name, versions] of names) {
        if (caller === undefined || this.visible(name, caller) === versions) found.push([name, owner, versions]);
      }
    }
    found.sort((a, b) => compareText(a[0], b[0]) || compareText(a[1], b[1]));
    return found.flatMap(([, , versions]) => versions.heads());
  }

  #versionsFor({ apiKeyId, name }: SkillHead): SkillVersions {
    const names = this.#owners.get(apiKeyId) ?? new Map<string, SkillVersions>();
    this.#owners.set(apiKeyId, names);
    const versions = names.get(name) ?? new SkillVersions();
    names.set(name, versions);
    return versions;
  }
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
