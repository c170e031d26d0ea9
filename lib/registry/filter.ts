import { SkillError } from "../errors.js";
import { suggestion } from "../nearest.js";
import type { SkillHead, SkillMode } from "../types.js";

/** Conditions of `list()`; what is absent or `undefined` is no condition. */
export interface SkillFilter {
  /** Skills of this owner. */
  readonly apiKeyId?: string | undefined;
  /** Skills that this caller sees: own ones, and those of `system` under other names. */
  readonly visibleTo?: string | undefined;
  readonly name?: string | undefined;
  readonly tag?: string | undefined;
  readonly mode?: SkillMode | undefined;
  readonly enabled?: boolean | undefined;
}

const keys = ["apiKeyId", "visibleTo", "name", "tag", "mode", "enabled"] as const satisfies readonly (keyof SkillFilter)[];

/** @throws INVALID_OPTION for a key that is no condition: a misspelt one would match everything */
export function validateFilter(filter: SkillFilter): void {
  for (const key of Object.keys(filter)) {
    if (!(keys as readonly string[]).includes(key)) {
      throw new SkillError(
        "INVALID_OPTION",
        `list() has no condition ${JSON.stringify(key.slice(0, 80))}${suggestion(key, keys)}`,
      );
    }
  }
}

/** Whether a head meets every condition but `visibleTo`, which depends on other heads. */
export function matchesFilter(head: SkillHead, { apiKeyId, name, tag, mode, enabled }: SkillFilter): boolean {
  return (
    (apiKeyId === undefined || head.apiKeyId === apiKeyId) &&
    (name === undefined || head.name === name) &&
    (tag === undefined || head.tags.includes(tag)) &&
    (mode === undefined || head.mode === mode) &&
    (enabled === undefined || head.enabled === enabled)
  );
}
