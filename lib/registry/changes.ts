import { randomUUID } from "node:crypto";
import { SkillError } from "../errors.js";
import { countWorkOf } from "../store/queued-work.js";
import type { SkillRow } from "../store/rows.js";
import { writeSetting } from "../store/settings.js";
import { findSkill, insertSkill, nextRevision, replaceSkill, type SkillChange, updateSkill } from "../store/skills.js";
import type { Operation } from "../store/store.js";
import { decodeContent, differingFields, type EncodedContent, type SkillContent } from "./content.js";
import type { ParsedDefinition } from "./definition.js";
import { isDeleted } from "./head.js";
import { quoted } from "./reference.js";

/** The key of one version. */
export interface VersionKey {
  readonly apiKeyId: string;
  readonly name: string;
  readonly version: string;
}

/** The stored row when it is exactly this version with exactly this content: registering it again changes nothing. */
export function* findUnchanged(key: VersionKey, encoded: EncodedContent): Operation<SkillRow | undefined> {
  const row = yield* findSkill(key.apiKeyId, key.name, key.version);
  return row !== undefined && !isDeleted(row) && isSame(row, encoded) ? row : undefined;
}

/**
 * Inserts a version, revives its tombstone, or overwrites it.
 * @throws SKILL_CONFLICT it exists with other content and `replace` is false
 */
export function* writeVersion(definition: ParsedDefinition, encoded: EncodedContent, replace: boolean): Operation<SkillRow> {
  const revision = yield* nextRevision();
  const now = new Date().toISOString();
  const existing = yield* findSkill(definition.apiKeyId, definition.name, definition.version);
  if (existing === undefined) {
    const row: SkillRow = { id: randomUUID(), ...describedBy(definition), ...contentOf(encoded), revision, ...bornAt(now) };
    yield* insertSkill(row);
    return row;
  }
  if (existing.content_hash !== encoded.hash && !replace) throw conflict(existing, definition.content);
  // A tombstone starts anew, so what applies to a first registration applies to it.
  const described = isDeleted(existing) ? { ...describedBy(definition), deleted_at: null } : {};
  const fields = { ...described, ...contentOf(encoded), revision, updated_at: now };
  yield* replaceSkill(existing.id, fields);
  return { ...existing, ...fields };
}

/**
 * Changes what may change of a version.
 * @throws SKILL_NOT_FOUND
 */
export function* changeVersion(key: VersionKey, change: SkillChange): Operation<void> {
  const revision = yield* nextRevision();
  const row = yield* findSkill(key.apiKeyId, key.name, key.version);
  if (row === undefined || isDeleted(row)) throw notFound(key);
  yield* updateSkill(row.id, { ...change, revision, updated_at: new Date().toISOString() });
}

/**
 * Leaves tombstones; gives how many versions there were.
 * @throws SKILL_IN_USE queued work names one of them and `force` is false
 */
export function* removeVersions(keys: readonly VersionKey[], force: boolean): Operation<number> {
  const revision = yield* nextRevision();
  const now = new Date().toISOString();
  let removed = 0;
  for (const key of keys) {
    const row = yield* findSkill(key.apiKeyId, key.name, key.version);
    if (row === undefined || isDeleted(row)) continue;
    yield* updateSkill(row.id, { deleted_at: now, updated_at: now, revision });
    // After the row was changed: its lock keeps out what is being enqueued in this moment.
    const waiting = force ? 0 : yield* countWorkOf(row.id);
    if (waiting > 0) throw inUse(key, waiting);
    removed++;
  }
  return removed;
}

export function* changeSetting(key: string, value: unknown): Operation<void> {
  yield* nextRevision();
  yield* writeSetting(key, value);
}

export function notFound({ name, version }: VersionKey): SkillError {
  return new SkillError("SKILL_NOT_FOUND", `There is no skill ${quoted(`${name}@${version}`, 160)} of this owner.`);
}

function inUse({ name, version }: VersionKey, waiting: number): SkillError {
  const what = `${waiting} queued ${waiting === 1 ? "execution names" : "executions name"} ${name}@${version}`;
  return new SkillError("SKILL_IN_USE", `${what}. Wait for them or cancel them, or pass force: true, which ends them as DENIED.`);
}

/** The hash alone would call content that was damaged by hand the same. */
function isSame(row: SkillRow, encoded: EncodedContent): boolean {
  return row.content_hash === encoded.hash && row.content === encoded.text;
}

function conflict(existing: SkillRow, content: SkillContent): SkillError {
  const { name, version } = existing;
  const state = isDeleted(existing) ? "was unregistered with other content" : "exists with other content";
  return new SkillError(
    "SKILL_CONFLICT",
    `${name}@${version} ${state} (${difference(existing, content)}). Register a new version, or pass replace: true to overwrite this one.`,
  );
}

function difference(existing: SkillRow, content: SkillContent): string {
  try {
    const stored = decodeContent(existing.content, existing.content_hash, existing);
    return `different: ${differingFields(stored, content).join(", ")}`;
  } catch {
    return "the stored one is damaged";
  }
}

function describedBy(definition: ParsedDefinition) {
  return {
    api_key_id: definition.apiKeyId,
    name: definition.name,
    version: definition.version,
    description: definition.description,
    enabled: definition.enabled ? 1 : 0,
    mode: definition.mode,
    tags: JSON.stringify(definition.tags),
    source_provider: definition.sourceProvider,
  };
}

function contentOf(encoded: EncodedContent) {
  return { content: encoded.text, content_hash: encoded.hash };
}

function bornAt(now: string) {
  return { created_at: now, updated_at: now, deleted_at: null };
}
