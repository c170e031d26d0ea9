import type { SkillHeadRow, SkillRow } from "../store/rows.js";
import type { Skill, SkillHead, SkillMode } from "../types.js";
import type { SkillContent } from "./content.js";
import { isExactVersion, nameFault } from "./reference.js";

/** Reads a row of the catalogue. Gives what is wrong with it instead when it was changed by hand into something that cannot be used. */
export function toHead(row: SkillHeadRow): SkillHead | { readonly problem: string } {
  if (!isText(row.id) || !isText(row.api_key_id)) return { problem: "its id or owner is missing" };
  if (!isText(row.name) || nameFault(row.name) !== undefined) return { problem: "its name is not valid" };
  if (!isText(row.version) || !isExactVersion(row.version)) return { problem: "its version is not valid" };
  if (row.enabled !== 0 && row.enabled !== 1) return { problem: "enabled is neither 0 nor 1" };
  if (!isMode(row.mode)) return { problem: "its mode is none of on, off, auto" };
  if (!isText(row.content_hash) || typeof row.description !== "string") return { problem: "its hash or description is missing" };
  const tags = parseTags(row.tags);
  if (tags === undefined) return { problem: "its tags are no JSON array of strings" };
  return Object.freeze({
    id: row.id,
    apiKeyId: row.api_key_id,
    name: row.name,
    version: row.version,
    description: row.description,
    enabled: row.enabled === 1,
    mode: row.mode,
    tags,
    sourceProvider: row.source_provider ?? null,
    contentHash: row.content_hash,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  });
}

export function toSkill(head: SkillHead, content: SkillContent): Skill {
  return Object.freeze({ handler: null, container: null, ...content, ...head });
}

/** Whether a row is a tombstone. */
export function isDeleted(row: Pick<SkillRow, "deleted_at">): boolean {
  return row.deleted_at !== null;
}

function parseTags(text: unknown): readonly string[] | undefined {
  try {
    const tags: unknown = JSON.parse(String(text));
    return Array.isArray(tags) && tags.every((tag) => typeof tag === "string") ? Object.freeze(tags) : undefined;
  } catch {
    return undefined;
  }
}

function isMode(mode: unknown): mode is SkillMode {
  return mode === "on" || mode === "off" || mode === "auto";
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}
