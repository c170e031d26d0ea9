// Looking up the same ten references when there are 100,000 skills, against 10.
import { createRequire } from "node:module";
import { join } from "node:path";
import { createSkills } from "express-skills/core";
import { folder, interleave, isQuick, report, row } from "./rounds.js";

const ranges = ["^1.0.0", "1.0.0", "latest", "~1.0", ">=1 <2", "1", "1.x", "*", ">0.9", "^0.9 || ^1"];
const lookUpsPerRound = isQuick ? 20_000 : 100_000;

const few = await openKit("few.db", 0);
const many = await openKit("many.db", 99_990);
const timeFew = () => microsecondsPerLookUp(few);
const timeMany = () => microsecondsPerLookUp(many);
await timeFew();
await timeMany();
const measured = await interleave(isQuick ? 5 : 15, timeMany, timeFew);
report([row("look-up among 100,000 skills / among 10", measured, "µs", { kind: "at most", ratio: 1.5 })]);
await few.close();
await many.close();

/**
 * @param {string} name
 * @param {number} others
 */
async function openKit(name, others) {
  const database = join(folder, name);
  const kit = createSkills({ database, audit: false });
  for (let index = 0; index < ranges.length; index += 1) {
    kit.define({ name: `skill-${index}`, schema: { type: "object" }, handler: () => null });
  }
  await kit.ready();
  if (others > 0) addCopies(database, others);
  await kit.registry.loadFromDatabase();
  const { length } = await kit.registry.list();
  if (length !== ranges.length + others) throw new Error(`${length} skills were loaded`);
  return kit;
}

/**
 * Registering them one by one would take minutes.
 * @param {string} file
 * @param {number} count
 */
function addCopies(file, count) {
  const Database = createRequire(import.meta.url)("better-sqlite3");
  const database = new Database(file);
  database.exec(`
    with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < ${count})
    insert into skills (id, api_key_id, name, version, description, enabled, mode, tags, content, content_hash, revision, created_at, updated_at)
    select 'copy-' || n, api_key_id, 'copy-' || (n / 5), '1.' || (n % 5) || '.0', description, enabled, mode, tags, content, content_hash,
      revision, created_at, updated_at
    from numbers, (select * from skills where name = 'skill-0')`);
  database.close();
}

/** @param {import("express-skills/core").SkillsKit} kit */
async function microsecondsPerLookUp(kit) {
  const startedAt = performance.now();
  for (let done = 0; done < lookUpsPerRound; done += ranges.length) {
    for (const [index, range] of ranges.entries()) await kit.registry.resolveVersion(`skill-${index}`, range);
  }
  return ((performance.now() - startedAt) * 1000) / lookUpsPerRound;
}
