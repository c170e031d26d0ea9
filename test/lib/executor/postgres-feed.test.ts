import type { CompiledQuery } from "kysely";
import { expect, test, vi } from "vitest";
import { toPostgres } from "../../../lib/store/postgres-query.js";
import { listByIds, listEndedSince, listMadeSince } from "../../../lib/store/recent-executions.js";
import type { Operation } from "../../../lib/store/store.js";
import { connectBeside } from "../../fixtures/database.js";
import { openTestKit, until } from "../../fixtures/kit.js";
import { follow } from "./follow.js";

test.each([-28_000, 28_000])("a call on a host whose clock differs by %i ms is told like any other", async (skewMs) => {
  const here = openTestKit();
  const there = openTestKit({ database: here.file });
  there.define({ name: "quick", schema: { type: "object" }, handler: () => 1 });
  await there.ready();
  const { statusesOf } = await follow(here);
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + skewMs });
  const { id, finishedAt } = await there.executor.execute("quick", {}).finally(() => vi.useRealTimers());
  expect(Math.abs(Date.parse(finishedAt ?? "") - Date.now())).toBeGreaterThan(15_000);
  await until(() => statusesOf(id).length === 1);
});

test("a look at 30,000 executions reads only what it needs", async () => {
  const { file, ...kit } = openTestKit();
  await kit.ready();
  const client = await connectBeside(file);
  await client.query(`
    insert into skill_executions (id, skill_name, skill_version, api_key_id, root_id, instance_id, status, input_state, output_state,
      attempts, created_at, finished_at)
    select lpad(to_hex(n), 8, '0') || '-0000-7000-8000-000000000000', 's', '1.0.0', 'k', 'r', 'i', 'SUCCESS', 'none', 'none', 1, at, at
    from (select n, to_char(timestamp '2026-01-01' + n * interval '1 second', 'YYYY-MM-DD"T"HH24:MI:SS.000"Z"') as at
      from generate_series(1, 30000) as n) as made`);
  await client.query("analyze skill_executions");
  const planOf = async (operation: Operation<unknown>) => {
    const { text, values } = toPostgres(operation.next().value as CompiledQuery);
    const { rows } = await client.query(`explain ${text}`, [...(values ?? [])]);
    return rows.map((row) => row["QUERY PLAN"]).join("\n");
  };
  expect(await planOf(listEndedSince("2026-01-01T08:00:00.000Z", 10_000))).toContain("skill_executions_finished");
  expect(await planOf(listMadeSince("2026-01-01T08:00:00.000Z", 10_000))).toContain("skill_executions_pkey");
  expect(await planOf(listByIds(["a", "b", "c"]))).toContain("skill_executions_pkey");
});
