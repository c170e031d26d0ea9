// `execute` with its audit, against two single-row writes per call, and against itself without an audit.
import { join } from "node:path";
import { createSkills } from "express-skills/core";
import { folder, interleave, isQuick, report, row } from "./rounds.js";
import { openTwoWrites } from "./two-writes.js";

const concurrency = 64;
const callsPerRound = isQuick ? 4_000 : 10_000;
const rounds = isQuick ? 3 : 15;
const input = { text: "The quick brown fox jumps over the lazy dog." };

/** @typedef {(input: any) => unknown} Work */
/** @type {Record<string, Work>} */
const handlers = {
  "one turn": ({ text }) => ({ length: text.length }),
  "two turns": async ({ text }) => {
    await new Promise((resolve) => setImmediate(resolve));
    return { length: text.length };
  },
};

const rows = [];
for (const [turns, handler] of Object.entries(handlers)) rows.push(...(await measureHandler(turns, handler)));
report(rows);

/**
 * @param {string} turns
 * @param {Work} handler
 */
async function measureHandler(turns, handler) {
  const file = (/** @type {string} */ name) => join(folder, `${name} ${turns}.db`);
  const audited = await openExecute(file("audited"), handler, {});
  const unaudited = await openExecute(file("unaudited"), handler, false);
  const writes = await openTwoWrites(file("two writes"));
  const auditedRate = () => callsPerSecond(audited.call);
  const writesRate = () => callsPerSecond(() => writes.call(input, handler));
  const unauditedRate = () => callsPerSecond(unaudited.call);
  // Until all are compiled by V8.
  for (const rate of [auditedRate, writesRate, unauditedRate]) await rate();

  const bar = /** @type {const} */ ({ kind: "at least", ratio: 4 });
  const measured = [
    row(`execute / two writes per call, handler in ${turns}`, await interleave(rounds, auditedRate, writesRate), "calls/s", bar),
    row(`execute with audit / without, handler in ${turns}`, await interleave(rounds, auditedRate, unauditedRate), "calls/s"),
  ];
  await audited.close();
  await unaudited.close();
  writes.close();
  return measured;
}

/**
 * @param {string} database
 * @param {Work} handler
 * @param {{} | false} audit
 */
async function openExecute(database, handler, audit) {
  const kit = createSkills({ database, audit });
  const schema = { type: "object", properties: { text: { type: "string", minLength: 1 } }, required: ["text"] };
  const handle = kit.define({ name: "measure", schema, handler });
  await kit.ready();
  return {
    call: async () => {
      const { status } = await kit.executor.execute(handle, input);
      if (status !== "SUCCESS") throw new Error(`A call ended with ${status}`);
    },
    close: () => kit.close(),
  };
}

/** @param {() => Promise<unknown>} call */
async function callsPerSecond(call) {
  let waiting = callsPerRound;
  const startedAt = performance.now();
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      while (waiting > 0) {
        waiting -= 1;
        await call();
      }
    }),
  );
  return callsPerRound / ((performance.now() - startedAt) / 1000);
}
