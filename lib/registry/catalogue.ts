import { SkillError } from "../errors.js";
import { type SkillHead, SYSTEM_OWNER } from "../types.js";
import type { ParsedReference } from "./reference.js";
import { SkillVersions } from "./versions.js";

/** Where a page of the list begins: after this version, whether it still exists or not. */
export interface SkillPosition {
  readonly name: string;
  readonly apiKeyId: string;
  /** Exact. */
  readonly version: string;
}

interface Listed {
  readonly name: string;
  readonly apiKeyId: string;
  readonly versions: SkillVersions;
}

/** Every version that exists, without its content, in memory. What a look-up costs does not depend on how many there are. */
export class Catalogue {
  readonly #owners = new Map<string, Map<string, SkillVersions>>();
  readonly #byId = new Map<string, SkillHead>();
  /** In the order of `heads()`; made when first needed, dropped when a name comes or goes. */
  #listed: readonly Listed[] | undefined;

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
    if (versions?.size !== 0) return;
    this.#listed = undefined;
    names?.delete(head.name);
    if (names?.size === 0) this.#owners.delete(head.apiKeyId);
  }

  clear(): void {
    this.#owners.clear();
    this.#byId.clear();
    this.#listed = undefined;
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

  /** Every head that a caller sees, or every head, after a position: by name, then owner, then newest first. */
  *heads(caller?: string, after?: SkillPosition): Generator<SkillHead, void, undefined> {
    const listed = this.#sorted();
    for (let index = after === undefined ? 0 : firstAt(listed, after); index < listed.length; index++) {
      const { name, apiKeyId, versions } = listed[index] as Listed;
      if (caller !== undefined && apiKeyId !== caller && apiKeyId !== SYSTEM_OWNER) continue;
      if (caller !== undefined && this.visible(name, caller) !== versions) continue;
      const isPosition = name === after?.name && apiKeyId === after.apiKeyId;
      yield* isPosition ? versions.olderThan(after.version) : versions.heads();
    }
  }

  #sorted(): readonly Listed[] {
    if (this.#listed !== undefined) return this.#listed;
    const listed: Listed[] = [];
    for (const [apiKeyId, names] of this.#owners) {
      for (const [name, versions] of names) listed.push({ name, apiKeyId, versions });
    }
    this.#listed = listed.sort(compare);
    return listed;
  }

  #versionsFor({ apiKeyId, name }: SkillHead): SkillVersions {
    const names = this.#owners.get(apiKeyId) ?? new Map<string, SkillVersions>();
    this.#owners.set(apiKeyId, names);
    const known = names.get(name);
    if (known !== undefined) return known;
    const versions = new SkillVersions();
    names.set(name, versions);
    this.#listed = undefined;
    return versions;
  }
}

/** The first entry that is at a position's name and owner, or follows them. */
function firstAt(listed: readonly Listed[], position: SkillPosition): number {
  let low = 0;
  let high = listed.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compare(listed[middle] as Listed, position) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

function compare(a: Pick<Listed, "name" | "apiKeyId">, b: Pick<Listed, "name" | "apiKeyId">): number {
  return compareText(a.name, b.name) || compareText(a.apiKeyId, b.apiKeyId);
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
