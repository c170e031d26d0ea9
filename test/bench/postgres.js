// `execute` with its audit on PostgreSQL, against two prepared single-row writes per call through as many connections; and writing
// executions together, against one row per statement.
import { createSkills } from "express-skills/core";
import pg from "pg";
import { startPostgres } from "../postgres/server.js";
import { idAt } from "./ids.js";
import { interleave, isQuick, report, row } from "./rounds.js";

// Not part of what the package shows; and it is there only once it is built.
const { openPostgres } = await import(String(new URL("../../dist/lib/store/postgres.js", import.meta.url)));
const concurrency = 64;
const poolSize = 10;
const callsPerRound = isQuick ? 1_000 : 5_000;
const rounds = isQuick ? 3 : 15;
const input = { text: "The quick brown fox jumps over the lazy dog." };
/** @param {{ text: string }} input */
const work = ({ text }) => ({ length: text.length });

const server = await startPostgres({ isDurable: true });
const url = `${server.url}?pool_size=${poolSize}`;
const kit = createSkills({ database: url });
const handle = kit.define({
  name: "measure",
  schema: { type: "object", properties: { text: { type: "string", minLength: 1 } }, required: ["text"] },
  handler: work,
});
await kit.ready();
const pool = new pg.Pool({ connectionString: server.url, max: poolSize });
const store = await openPostgres({ database: url, durability: "process" });
let count = 0;
try {
  const audited = () => perSecond(callKit);
  const twoWrites = () => perSecond(writeTwice);
  const together = () => perSecond(() => store.upsertExecutions(Array.from({ length: 64 }, executionRow)), 64);
  const oneByOne = () => perSecond(() => store.upsertExecutions([executionRow()]));
  for (const rate of [audited, twoWrites, together, oneByOne]) await rate();
  report([
    row("execute on PostgreSQL / two writes per call", await interleave(rounds, audited, twoWrites), "calls/s", {
      kind: "at least",
      ratio: 3,
    }),
    row("64 rows per statement on PostgreSQL / one", await interleave(rounds, together, oneByOne), "rows/s"),
  ]);
} finally {
  await Promise.all([kit.close(), pool.end(), store.close()]);
  await server.remove();
}

async function callKit() {
  const { status } = await kit.executor.execute(handle, input);
  if (status !== "SUCCESS") throw new Error(`A call ended with ${status}`);
}

async function writeTwice() {
  const startedAt = Date.now();
  const id = idAt(startedAt, ++count);
  const values = [id, "s", "measure", "1.0.0", "default", id, "i", JSON.stringify(input), new Date(startedAt).toISOString()];
  await pool.query({
    name: "insert",
    text: `insert into skill_executions (id, skill_id, skill_name, skill_version, api_key_id, root_id, instance_id, status, input,
      input_state, output_state, attempts, created_at) values ($1, $2, $3, $4, $5, $6, $7, 'RUNNING', $8, 'whole', 'none', 1, $9)`,
    values,
  });
  const output = work(input);
  const endedAt = Date.now();
  await pool.query({
    name: "update",
    text: `update skill_executions set status = 'SUCCESS', output = $1, output_state = 'whole', duration_ms = $2, finished_at = $3
      where id = $4`,
    values: [JSON.stringify(output), endedAt - startedAt, new Date(endedAt).toISOString(), id],
  });
}

function executionRow() {
  const now = Date.now();
  const id = idAt(now, ++count);
  return {
    id,
    skill_id: "s",
    skill_name: "measure",
    skill_version: "1.0.0",
    api_key_id: "default",
    session_id: null,
    request_id: null,
    parent_id: null,
    root_id: id,
    instance_id: "i",
    status: "SUCCESS",
    input: JSON.stringify(input),
    input_state: "whole",
    output: JSON.stringify(work(input)),
    output_state: "whole",
    error_code: null,
    error_message: null,
    attempts: 1,
    duration_ms: 1,
    idempotency_key: null,
    request_hash: null,
    created_at: new Date(now).toISOString(),
    finished_at: new Date(now).toISOString(),
    sandbox: null,
    log: null,
  };
}

/**
 * @param {() => unknown} work
 * @param {number} [each] how many rows or calls one piece of work is
 */
async function perSecond(work, each = 1) {
  let waiting = callsPerRound;
  const startedAt = performance.now();
  const worker = async () => {
    while (waiting > 0) {
      waiting -= each;
      await work();
    }
  };
  // As many at once as there are calls at work, whether they wait for one statement or each for its own.
  await Promise.all(Array.from({ length: each === 1 ? concurrency : 1 }, worker));
  return callsPerRound / ((performance.now() - startedAt) / 1000);
}
