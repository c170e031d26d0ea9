import type { Skill, SkillDefinition, SkillHead, SkillMode } from "../types.js";
import type { SkillPosition } from "./catalogue.js";
import type { SkillUpdate } from "./definition.js";
import type { SkillFilter } from "./filter.js";
import type { ReferenceLike } from "./reference.js";

export interface RegisterOptions {
  /** Overwrite a version that exists with other content. Default false. */
  readonly replace?: boolean | undefined;
  /**
   * Engine of the schemas' patterns. `linear` (default) bounds the schemas too, so that no definition can stop the server; `native` is
   * JavaScript's own, for definitions that are the operator's own code.
   */
  readonly patterns?: Skill["patterns"] | undefined;
  /**
   * The definition comes from somebody who is not the operator. Default false. The image of its container must be in the option
   * `sandbox.images`, and the container gets no network but that of `sandbox.defaults`, no root, no variable of the server, at most the limits and
   * the time of `sandbox.defaults`, and `warm` of at most 2.
   */
  readonly registrant?: boolean | undefined;
}

export interface UnregisterOptions {
  /** Remove versions that queued work names, too: that work ends as DENIED when its turn comes. Default false. */
  readonly force?: boolean | undefined;
}

/**
 * What skills exist, in every version and for every owner. Changes are stored at once and seen at once by this process, within a second
 * by others on the same database.
 *
 * What changes something takes `apiKeyId` as the owner, `system` by default. What looks something up takes it as the caller, `default` by
 * default, who sees own skills, and those of `system` under names of which it owns no version.
 *
 * Every method throws STORE_UNAVAILABLE when the database cannot be reached; look-ups only after 60 s of that.
 * @since 0.1.0
 */
export interface Registry {
  /**
   * Registers a version. The same content again changes nothing and gives the stored skill. Schema, output schema, handler or container, and run
   * policy are immutable per version; `enabled`, `mode`, `description`, `tags` and `sourceProvider` apply when the version is first registered, or
   * again after `unregister`.
   * @throws INVALID_DEFINITION with every fault and its JSON pointer
   * @throws SKILL_CONFLICT the version exists, or was unregistered, with other content, and `replace` is not true
   * @throws IMAGE_NOT_ALLOWED the container's image is not in the option `sandbox.images`
   */
  register(definition: SkillDefinition, options?: RegisterOptions): Promise<Skill>;
  /**
   * Removes a version, or every version of the name, and gives how many there were. Executions stay. What was removed leaves a tombstone:
   * registering other content under it needs `replace: true`.
   * @throws SKILL_IN_USE queued work names one of the versions, and `force` is not true: then none is removed
   */
  unregister(name: string, version?: string, apiKeyId?: string, options?: UnregisterOptions): Promise<number>;
  /** The versions that meet every given condition: by name, then owner, then newest first. @throws INVALID_OPTION */
  list(filter?: SkillFilter): Promise<SkillHead[]>;
  /**
   * The first `limit` of what `list()` gives that come after a position: that of the last version of the page before. A version that no
   * longer exists is a position too.
   * @throws INVALID_OPTION
   */
  listPage(filter: SkillFilter, limit: number, after?: SkillPosition): Promise<SkillHead[]>;
  /**
   * The skill that a reference means, or `undefined` when there is none. An exact reference finds a disabled version too.
   * @throws INVALID_REFERENCE, STORED_SKILL_INVALID
   */
  getSkill(reference: ReferenceLike, apiKeyId?: string): Promise<Skill | undefined>;
  /** The versions of a name that the caller sees, newest first, disabled ones too. */
  getSkillVersions(name: string, apiKeyId?: string): Promise<SkillHead[]>;
  /**
   * The skill that a call of `name@range` would run.
   * @throws INVALID_REFERENCE, SKILL_NOT_FOUND, SKILL_DISABLED, STORED_SKILL_INVALID
   */
  resolveVersion(name: string, range: string, apiKeyId?: string): Promise<Skill>;
  /** @throws SKILL_NOT_FOUND, INVALID_DEFINITION */
  setEnabled(name: string, version: string, enabled: boolean, apiKeyId?: string): Promise<SkillHead>;
  /** @throws SKILL_NOT_FOUND, INVALID_DEFINITION */
  setMode(name: string, version: string, mode: SkillMode, apiKeyId?: string): Promise<SkillHead>;
  /** Changes description and tags. @throws SKILL_NOT_FOUND, INVALID_DEFINITION */
  update(name: string, version: string, update: SkillUpdate, apiKeyId?: string): Promise<SkillHead>;
  /** The master switch `settings.skillsEnabled`. Default true. */
  getSkillsEnabled(): Promise<boolean>;
  /** Turns all skills on or off, in every process on the database. @throws INVALID_OPTION */
  setSkillsEnabled(enabled: boolean): Promise<void>;
  /** Reads the whole catalogue anew. */
  loadFromDatabase(): Promise<void>;
  /** Forgets what is compiled and parsed; the next look-up asks the database whether anything changed. */
  invalidateCache(): Promise<void>;
}

/** A registry that is there before its database is open: every call first waits for `open`, which may fail and be tried again. */
export function openRegistry(open: () => Promise<Registry>): Registry {
  return {
    register: async (...args) => (await open()).register(...args),
    unregister: async (...args) => (await open()).unregister(...args),
    list: async (...args) => (await open()).list(...args),
    listPage: async (...args) => (await open()).listPage(...args),
    getSkill: async (...args) => (await open()).getSkill(...args),
    getSkillVersions: async (...args) => (await open()).getSkillVersions(...args),
    resolveVersion: async (...args) => (await open()).resolveVersion(...args),
    setEnabled: async (...args) => (await open()).setEnabled(...args),
    setMode: async (...args) => (await open()).setMode(...args),
    update: async (...args) => (await open()).update(...args),
    getSkillsEnabled: async () => (await open()).getSkillsEnabled(),
    setSkillsEnabled: async (...args) => (await open()).setSkillsEnabled(...args),
    loadFromDatabase: async () => (await open()).loadFromDatabase(),
    invalidateCache: async () => (await open()).invalidateCache(),
  };
}
