import { all, db, first, run } from "./query.js";
import type { SkillHeadRow, SkillRow } from "./rows.js";
import type { Operation } from "./store.js";

/** How often skills and settings were changed, ever. */
export function* readRevision(): Operation<number> {
  const row = yield* first(db.selectFrom("catalogue").select("revision").where("id", "=", 1));
  return row?.revision ?? 0;
}

/**
 * Takes the next revision. Call it first in a transaction that changes skills or settings: the lock on its row lets only one such
 * transaction run at a time, so that revisions are committed in their order and what is read after it stays true until the commit.
 */
export function* nextRevision(): Operation<number> {
  const row = yield* first(
    db
      .updateTable("catalogue")
      .set((eb) => ({ revision: eb("revision", "+", 1) }))
      .where("id", "=", 1)
      .returning("revision"),
  );
  if (row) return row.revision;
  // Someone deleted the row by hand: start above every revision that a skill carries.
  const highest = yield* first(db.selectFrom("skills").select((eb) => eb.fn.max("revision").as("revision")));
  const revision = (highest?.revision ?? 0) + 1;
  yield* run(db.insertInto("catalogue").values({ id: 1, revision }));
  return revision;
}

const headColumns = [
  "id",
  "api_key_id",
  "name",
  "version",
  "description",
  "enabled",
  "mode",
  "tags",
  "source_provider",
  "content_hash",
  "revision",
  "created_at",
  "updated_at",
  "deleted_at",
] as const satisfies readonly (keyof SkillHeadRow)[];

/** What changed after a revision, tombstones included, oldest change first. Revision 0 gives everything. */
export function* readSkillHeadsSince(revision: number): Operation<SkillHeadRow[]> {
  return yield* all(
    db.selectFrom("skills").select(headColumns).where("revision", ">", revision).orderBy("revision").orderBy("id"),
  );
}

export function* readSkillContent(id: string): Operation<Pick<SkillRow, "content" | "content_hash"> | undefined> {
  return yield* first(db.selectFrom("skills").select(["content", "content_hash"]).where("id", "=", id));
}

/** One version of an owner's skill; a tombstone too. */
export function* findSkill(apiKeyId: string, name: string, version: string): Operation<SkillRow | undefined> {
  return yield* first(
    db
      .selectFrom("skills")
      .selectAll()
      .where("api_key_id", "=", apiKeyId)
      .where("name", "=", name)
      .where("version", "=", version),
  );
}

export function* insertSkill(row: SkillRow): Operation<void> {
  yield* run(db.insertInto("skills").values(row));
}

/** Overwrites a skill, or a tombstone; what is not given stays. Gives whether the row exists. */
export function* replaceSkill(id: string, fields: Partial<Omit<SkillRow, "id">>): Operation<boolean> {
  return yield* change(id, fields);
}

/** The fields that may change without touching a version's content. */
export type SkillChange = Partial<
  Pick<SkillRow, "enabled" | "mode" | "description" | "tags" | "updated_at" | "revision" | "deleted_at">
>;

/** Gives whether the row exists. */
export function* updateSkill(id: string, fields: SkillChange): Operation<boolean> {
  return yield* change(id, fields);
}

function* change(id: string, fields: Partial<SkillRow>): Operation<boolean> {
  const given = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
  if (Object.keys(given).length === 0) {
    return (yield* first(db.selectFrom("skills").select("id").where("id", "=", id))) !== undefined;
  }
  return (yield* run(db.updateTable("skills").set(given).where("id", "=", id))) > 0;
}
