import semver from "semver";
import type { SkillHead } from "../types.js";

/** Where a page of `list()` begins: after this version, whether it still exists or not. */
export interface SkillPosition {
  readonly name: string;
  readonly apiKeyId: string;
  /** Exact. */
  readonly version: string;
}

/** The part of a list, in the order of `list()`, that follows a position. */
export function headsAfter(heads: readonly SkillHead[], after: SkillPosition): readonly SkillHead[] {
  let low = 0;
  let high = heads.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compare(heads[middle] as SkillHead, after) > 0) high = middle;
    else low = middle + 1;
  }
  return heads.slice(low);
}

/** By name, then owner, then newest first. */
function compare(a: SkillPosition, b: SkillPosition): number {
  return compareText(a.name, b.name) || compareText(a.apiKeyId, b.apiKeyId) || semver.compare(b.version, a.version);
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
