import type { CompiledQuery } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";
import { listCancelRequests } from "../../../lib/store/cancel-requests.js";
import type { SqliteConnection } from "../../../lib/store/driver.js";
import { findByIdempotencyKey, findExecution, listExecutions, pruneExecutions } from "../../../lib/store/executions.js";
import { interruptExecutionsOf } from "../../../lib/store/instances.js";
import { migrate } from "../../../lib/store/migrate.js";
import { countWorkOf, hasWorkToPromote, listDue } from "../../../lib/store/queued-work.js";
import { listByIds, listEndedSince, listMadeSince, listTaken } from "../../../lib/store/recent-executions.js";
import { findSkill, readSkillHeadsSince } from "../../../lib/store/skills.js";
import { loadSqliteDriver } from "../../../lib/store/sqlite-drivers.js";
import type { Operation } from "../../../lib/store/store.js";

let connection: SqliteConnection;
beforeAll(async () => {
  connection = loadSqliteDriver().open(":memory:");
  await migrate(connection);
});
afterAll(() => connection.close());

function plan(operation: Operation<unknown>): string {
  const query = operation.next().value as CompiledQuery;
  const steps = connection.prepare(`explain query plan ${query.sql}`).all(query.parameters);
  return steps.map((step) => String(step.detail)).join("; ");
}

test.each([
  ["one execution", findExecution("x"), /USING INDEX sqlite_autoindex_skill_executions_1 \(id=\?\)/],
  ["an idempotency key", findByIdempotencyKey("k", "i"), /skill_executions_idempotency/],
  ["a page of everything", listExecutions({ limit: 10 }), /sqlite_autoindex_skill_executions_1/],
  [
    "an owner's page",
    listExecutions({ apiKeyId: "k", cursor: "x", limit: 10 }),
    /skill_executions_owner \(api_key_id=\? AND id</,
  ],
  ["a skill's page", listExecutions({ skillName: "n", limit: 10 }), /skill_executions_skill \(skill_name=\?/],
  ["a time range", listExecutions({ createdAfter: "2026-01-01T00:00:00Z", limit: 10 }), /\(id>\?/],
  ["the rows of dead instances", interruptExecutionsOf(["i"], "now"), /skill_executions_unfinished/],
  ["the oldest rows", pruneExecutions("2026-01-01T00:00:00Z", 10), /\(id<\?/],
  ["changed skills", readSkillHeadsSince(1), /skills_revision/],
  ["work that is due", listDue(10, []), /queued_work_due \(state=\?\)/],
  ["work that is due, without some skills", listDue(10, ["a", "b"]), /queued_work_due \(state=\?\)/],
  ["work whose time has come", hasWorkToPromote("now"), /queued_work_later \(state=\? AND run_at</],
  ["the work of a skill", countWorkOf("s"), /queued_work_skill/],
  ["what an instance shall end", listCancelRequests("i"), /cancel_requests_instance/],
  ["what ended lately", listEndedSince("2026-01-01T00:00:00Z", 10), /skill_executions_finished \(finished_at>/],
  ["what was made lately", listMadeSince("2026-01-01T00:00:00Z", 10), /\(id>\?/],
  ["queued work that runs", listTaken(10), /queued_work_due \(state=\?\)/],
  ["a few executions", listByIds(["a", "b", "c"]), /sqlite_autoindex_skill_executions_1 \(id=\?\)/],
  ["one version of a skill", findSkill("k", "n", "1.0.0"), /\(api_key_id=\? AND name=\? AND version=\?\)/],
])("%s is found through an index, without sorting", (_, operation, index) => {
  const steps = plan(operation);
  expect(steps).toMatch(index);
  expect(steps).not.toMatch(/SCAN (?!skill_executions USING)|TEMP B-TREE(?! FOR LAST TERM)/);
});

test("a tree, and the children of a call, are found through an index", () => {
  expect(plan(listExecutions({ parentId: "p", limit: 10 }))).toMatch(/skill_executions_parent/);
  expect(plan(listExecutions({ rootId: "r", limit: 10 }))).toMatch(/skill_executions_root/);
});
