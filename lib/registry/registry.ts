import { LRUCache } from "lru-cache";
import { isSkillError, SkillError } from "../errors.js";
import { type ContainerRules, checkContainerAllowed } from "../sandbox/container-definition.js";
import type { SkillRow } from "../store/rows.js";
import type { SkillChange } from "../store/skills.js";
import type { Operation, Store } from "../store/store.js";
import {
  DEFAULT_CALLER,
  type Logger,
  type MaybePromise,
  type Skill,
  type SkillDefinition,
  type SkillHead,
  type SkillMode,
  SYSTEM_OWNER,
} from "../types.js";
import type { SkillPosition } from "./catalogue.js";
import {
  changeSetting,
  changeVersion,
  findUnchanged,
  notFound,
  removeVersions,
  type VersionKey,
  writeVersion,
} from "./changes.js";
import { damaged, encodeContent, type SkillContent } from "./content.js";
import { invalidDefinition, parseDefinition, parseUpdate, type SkillUpdate } from "./definition.js";
import { matchesFilter, type SkillFilter, validateFilter } from "./filter.js";
import { CatalogueCopy } from "./freshness.js";
import { toHead, toSkill } from "./head.js";
import type { RegisterOptions, Registry, UnregisterOptions } from "./public.js";
import { isExactVersion, type ParsedReference, parseNameAndRange, parseReference, type ReferenceLike } from "./reference.js";
import { type RunnableSkill, RunnableSkills } from "./runnable.js";

export type { SkillUpdate } from "./definition.js";
export type { SkillFilter } from "./filter.js";
export { openRegistry, type RegisterOptions, type Registry, type UnregisterOptions } from "./public.js";
export type { RunnableSkill } from "./runnable.js";

export interface RegistryConfig {
  /** Open; the registry does not close it. */
  readonly store: Store;
  readonly logger: Logger;
  /** What container skills may ask for. Default: everything but variables of the server. */
  readonly containers?: ContainerRules | undefined;
  /** Told of every version that is registered here, whether or not that changed anything. */
  readonly onRegister?: ((skill: Skill) => void) | undefined;
  /** Told the id of every version that was changed or removed, here or by another process. */
  readonly onChange?: ((skillId: string) => void) | undefined;
  /** A monotonic clock in milliseconds. Default `performance.now`. */
  readonly now?: (() => number) | undefined;
}

const MAX_REFERENCES = 1_000;
const SKILLS_ENABLED = "skillsEnabled";

/**
 * The registry on an open database. What it inherits from `Registry` is described there; the rest is for the executor, which looks up a
 * skill at every call.
 * @since 0.1.0
 */
export class SkillRegistry implements Registry {
  readonly #store: Store;
  readonly #copy: CatalogueCopy;
  readonly #runnables: RunnableSkills;
  readonly #references = new LRUCache<string, ParsedReference>({ max: MAX_REFERENCES });
  readonly #containers: ContainerRules;
  readonly #onRegister: RegistryConfig["onRegister"];

  constructor({ store, logger, containers = {}, onRegister, onChange, now }: RegistryConfig) {
    this.#store = store;
    this.#containers = containers;
    this.#onRegister = onRegister;
    this.#copy = new CatalogueCopy(store, logger, { now, onChange });
    this.#runnables = new RunnableSkills(store);
  }

  /** Loads the catalogue. @throws STORE_UNAVAILABLE, STORE_INVALID */
  async open(): Promise<void> {
    await this.#copy.reload();
  }

  /** The master switch `settings.skillsEnabled`, as of the last refresh. Default true. */
  get skillsEnabled(): boolean {
    return this.#copy.settings[SKILLS_ENABLED] !== false;
  }

  async getSkillsEnabled(): Promise<boolean> {
    await this.#copy.ensureFresh();
    return this.skillsEnabled;
  }

  async setSkillsEnabled(enabled: boolean): Promise<void> {
    if (typeof enabled !== "boolean") throw new SkillError("INVALID_OPTION", "skillsEnabled must be true or false.");
    await this.#write(() => changeSetting(SKILLS_ENABLED, enabled));
  }

  async register(definition: SkillDefinition, options: RegisterOptions = {}): Promise<Skill> {
    const parsed = parseDefinition(definition, { patterns: options.patterns === "native" ? "native" : "linear" });
    const { container } = parsed.content;
    if (container !== undefined)
      checkContainerAllowed(container, this.#containers, options.registrant === true, parsed.content.timeoutMs);
    const encoded = encodeContent(parsed.content);
    this.#runnables.prepare(parsed.content, encoded);
    const unchanged = await this.#store.read(findUnchanged(parsed, encoded));
    // Registered by another process a moment ago: who registered it here, too, may use it from now on.
    if (unchanged !== undefined && unchanged.revision > this.#copy.revision) await this.#copy.catchUp();
    const row = unchanged ?? (await this.#write(() => writeVersion(parsed, encoded, options.replace === true)));
    const skill = skillOf(row, parsed.content);
    this.#onRegister?.(skill);
    return skill;
  }

  async unregister(
    name: string,
    version?: string,
    apiKeyId: string = SYSTEM_OWNER,
    options: UnregisterOptions = {},
  ): Promise<number> {
    await this.#copy.catchUp();
    const heads = this.#copy.catalogue.owned(name, apiKeyId)?.heads() ?? [];
    const keys = version === undefined ? heads : heads.filter((head) => head.version === version);
    return keys.length === 0 ? 0 : this.#write(() => removeVersions(keys, options.force === true));
  }

  async list(filter: SkillFilter = {}): Promise<SkillHead[]> {
    validateFilter(filter);
    await this.#copy.ensureFresh();
    return [...this.#matching(filter)];
  }

  async listPage(filter: SkillFilter, limit: number, after?: SkillPosition): Promise<SkillHead[]> {
    if (!Number.isInteger(limit) || limit < 1) throw new SkillError("INVALID_OPTION", "limit must be a whole number from 1.");
    if (after !== undefined && !isExactVersion(after.version))
      throw new SkillError("INVALID_OPTION", "after.version must be an exact version.");
    validateFilter(filter);
    await this.#copy.ensureFresh();
    const page: SkillHead[] = [];
    for (const head of this.#matching(filter, after)) {
      page.push(head);
      if (page.length === limit) break;
    }
    return page;
  }

  async getSkill(reference: ReferenceLike, apiKeyId: string = DEFAULT_CALLER): Promise<Skill | undefined> {
    const parsed = this.parse(reference);
    await this.#copy.ensureFresh();
    const { catalogue } = this.#copy;
    const head = catalogue.visible(parsed.name, apiKeyId)?.get(parsed.range) ?? found(() => catalogue.resolve(parsed, apiKeyId));
    return head && (await this.#runnables.get(head)).skill;
  }

  async getSkillVersions(name: string, apiKeyId: string = DEFAULT_CALLER): Promise<SkillHead[]> {
    await this.#copy.ensureFresh();
    return this.#copy.catalogue.visible(name, apiKeyId)?.heads() ?? [];
  }

  async resolveVersion(name: string, range: string, apiKeyId: string = DEFAULT_CALLER): Promise<Skill> {
    const head = await this.resolve(parseNameAndRange(name, range), apiKeyId);
    return (await this.#runnables.get(head)).skill;
  }

  async setEnabled(name: string, version: string, enabled: boolean, apiKeyId: string = SYSTEM_OWNER): Promise<SkillHead> {
    if (typeof enabled !== "boolean") throw invalidDefinition([{ pointer: "/enabled", message: "must be true or false" }]);
    return this.#change({ apiKeyId, name, version }, { enabled: enabled ? 1 : 0 });
  }

  async setMode(name: string, version: string, mode: SkillMode, apiKeyId: string = SYSTEM_OWNER): Promise<SkillHead> {
    if (mode !== "on" && mode !== "off" && mode !== "auto") {
      throw invalidDefinition([{ pointer: "/mode", message: 'must be one of "on", "off", "auto"' }]);
    }
    return this.#change({ apiKeyId, name, version }, { mode });
  }

  async update(name: string, version: string, update: SkillUpdate, apiKeyId: string = SYSTEM_OWNER): Promise<SkillHead> {
    const { description, tags } = parseUpdate(update);
    const change = {
      ...(description === undefined ? {} : { description }),
      ...(tags === undefined ? {} : { tags: JSON.stringify([...new Set(tags)]) }),
    };
    return this.#change({ apiKeyId, name, version }, change);
  }

  async loadFromDatabase(): Promise<void> {
    await this.#copy.reload();
  }

  async invalidateCache(): Promise<void> {
    this.#references.clear();
    this.#runnables.clear();
    // Where the database answers later, the next use would not wait for it.
    await this.#copy.catchUp();
    this.#copy.expire();
  }

  /** Reads a reference; each is parsed once. @throws INVALID_REFERENCE */
  parse(reference: ReferenceLike): ParsedReference {
    const key = typeof reference === "string" ? reference : undefined;
    const known = key === undefined ? undefined : this.#references.get(key);
    if (known !== undefined) return known;
    const parsed = parseReference(reference);
    if (key !== undefined) this.#references.set(key, parsed);
    return parsed;
  }

  /**
   * The version that the caller means, whatever its mode: `off` versions are chosen like others, and refused when they are run. No promise
   * while the catalogue is fresh, and never one on SQLite.
   * @throws SKILL_NOT_FOUND, SKILL_DISABLED, STORE_UNAVAILABLE
   */
  resolve(reference: ParsedReference, caller: string): MaybePromise<SkillHead> {
    const waiting = this.#copy.ensureFresh();
    if (waiting === undefined) return this.#copy.catalogue.resolve(reference, caller);
    return waiting.then(() => this.#copy.catalogue.resolve(reference, caller));
  }

  /**
   * The skill of a head with its compiled schemas. No promise when it is compiled already, and never one on SQLite.
   * @throws SKILL_NOT_FOUND, STORED_SKILL_INVALID, STORE_UNAVAILABLE
   */
  runnable(head: SkillHead): MaybePromise<RunnableSkill> {
    return this.#runnables.get(head);
  }

  *#matching(filter: SkillFilter, after?: SkillPosition): Generator<SkillHead, void, undefined> {
    const { name, visibleTo } = filter;
    // No owner is empty: this is before the first version of the name.
    const start = name === undefined || after?.name === name ? after : { name, apiKeyId: "", version: "0.0.0" };
    for (const head of this.#copy.catalogue.heads(visibleTo, start)) {
      if (name !== undefined && head.name !== name) return;
      if (matchesFilter(head, filter)) yield head;
    }
  }

  async #change(key: VersionKey, change: SkillChange): Promise<SkillHead> {
    if (!Object.values(key).every((part) => typeof part === "string")) throw notFound(key);
    await this.#write(() => changeVersion(key, change));
    const head = this.#copy.catalogue.owned(key.name, key.apiKeyId)?.get(key.version);
    if (head === undefined) throw notFound(key);
    return head;
  }

  /** This process sees its own change at once. */
  async #write<T>(operation: () => Operation<T>): Promise<T> {
    const result = await this.#store.write(operation);
    await this.#copy.catchUp();
    return result;
  }
}

function skillOf(row: SkillRow, content: SkillContent): Skill {
  const head = toHead(row);
  if ("problem" in head) throw damaged(row, head.problem);
  return toSkill(head, content);
}

/** What a look-up finds, or `undefined` when there is nothing to find. */
function found(lookUp: () => SkillHead): SkillHead | undefined {
  try {
    return lookUp();
  } catch (error) {
    if (isSkillError(error) && (error.code === "SKILL_NOT_FOUND" || error.code === "SKILL_DISABLED")) return undefined;
    throw error;
  }
}
