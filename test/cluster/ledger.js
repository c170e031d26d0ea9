import { existsSync, readFileSync } from "node:fs";
import { INNER } from "./kinds.js";

/**
 * @typedef {import("./load.js").Run} Run
 * @typedef {{ id: string, skill_name: string, status: string, parent_id: string | null, input: string | null, error_code: string | null }} Row
 * @typedef {{ id: string, run: number, name: string }} Effect what a handler did to the world
 *
 * @typedef {object} Ledger what was asked for, what the database says of it, and what was done
 * @property {readonly Run[]} runs
 * @property {readonly Row[]} rows
 * @property {readonly Effect[]} effects
 * @property {number} queued what still waits in the queue's own table
 */

const MIN_ACCEPTED = 0.75;
/** Of fewer, all may have been cut. */
const MIN_OF_KIND = 5;
const UNFINISHED = ["QUEUED", "RUNNING"];

/**
 * @param {readonly Run[]} runs
 * @param {import("./database.js").ClusterDatabase} database
 * @param {string} effectsFile
 * @returns {Promise<Ledger>}
 */
export async function readLedger(runs, database, effectsFile) {
  /** @type {Row[]} */
  const rows = await database.query("select id, skill_name, status, parent_id, input, error_code from skill_executions");
  const [queue] = await database.query("select count(*)::int as count from queued_work");
  return { runs, rows, effects: readEffects(effectsFile), queued: queue?.["count"] };
}

/**
 * @param {string} file
 * @returns {Effect[]}
 */
export function readEffects(file) {
  const lines = existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
  return lines.map((line) => {
    const [id = "", run, name = ""] = line.split(" ");
    return { id, run: Number(run), name };
  });
}

/**
 * @param {Ledger} ledger
 * @returns {string[]} what is wrong, a sentence each
 */
export function findFaults(ledger) {
  return [...faultsOfLoad(ledger), ...faultsOfRows(ledger), ...faultsOfAccepted(ledger), ...faultsOfEffects(ledger)];
}

/**
 * Of a load of which next to nothing came through, everything else may hold.
 *
 * @param {Ledger} ledger
 */
function faultsOfLoad({ runs, rows }) {
  const accepted = runs.filter(({ id }) => id !== undefined);
  const faults = [];
  if (accepted.length < MIN_ACCEPTED * runs.length) faults.push(`of ${runs.length} runs only ${accepted.length} were accepted`);
  const ends = new Set(rows.map(({ skill_name, status }) => `${skill_name} ${status}`));
  for (const kind of new Set(runs.map((run) => run.kind))) {
    // The first of those is how it ends when nothing happens to it.
    const [end] = kind.ends;
    const count = accepted.filter((run) => run.kind === kind).length;
    if (count >= MIN_OF_KIND && !ends.has(`${kind.name} ${end}`))
      faults.push(`none of ${count} runs of ${kind.name} ended as ${end}`);
  }
  return faults;
}

/** @param {Ledger} ledger */
function faultsOfRows({ rows, queued }) {
  const faults = rows
    .filter(({ status }) => UNFINISHED.includes(status))
    .map(({ id, skill_name, status }) => `execution ${id} of ${skill_name} is ${status} for ever`);
  if (queued > 0) faults.push(`${queued} rows are left in the queue`);
  return faults;
}

/** @param {Ledger} ledger */
function faultsOfAccepted({ runs, rows }) {
  const byId = new Map(rows.map((row) => [row.id, row]));
  return runs.flatMap(({ run, id, kind, way, answered }) => {
    if (id === undefined) return [];
    const row = byId.get(id);
    const what = `run ${run} (${kind.name}, ${way}), execution ${id},`;
    if (row === undefined) return [`${what} was accepted and is lost`];
    if (UNFINISHED.includes(row.status)) return [];
    if (answered !== undefined && row.status !== answered) return [`${what} was answered as ${answered} and is ${row.status}`];
    // Work that may be done again is taken by somebody else when its process dies.
    const isTakenAgain = way === "enqueue" && kind.idempotent;
    const ends = isTakenAgain ? kind.ends.filter((status) => status !== "INTERRUPTED") : kind.ends;
    return ends.includes(row.status) ? [] : [`${what} ended as ${row.status} (${row.error_code})`];
  });
}

/** @param {Ledger} ledger */
function faultsOfEffects({ runs, rows, effects }) {
  const done = countBy(effects, ({ run, name }) => `${run} ${name}`);
  const doneById = countBy(effects, ({ id }) => id);
  const faults = [];
  for (const { run, kind } of runs) {
    const count = done.get(`${run} ${kind.name}`) ?? 0;
    if (!kind.idempotent && count > 1) faults.push(`run ${run} (${kind.name}) was done ${count} times`);
    const inside = done.get(`${run} ${INNER}`) ?? 0;
    if (inside > 1) faults.push(`the call inside run ${run} (${kind.name}) was done ${inside} times`);
  }
  for (const { id, skill_name, status } of rows) {
    const count = doneById.get(id) ?? 0;
    if (status === "SUCCESS" && count === 0) faults.push(`execution ${id} of ${skill_name} is SUCCESS and was not done`);
    if (status === "DENIED" && count > 0) faults.push(`execution ${id} of ${skill_name} was refused, and done`);
  }
  return [...faults, ...faultsOfKeys(runs, rows), ...faultsOfNesting(rows)];
}

/**
 * However often a client asks under one idempotency key, that is one execution.
 *
 * @param {readonly Run[]} runs
 * @param {readonly Row[]} rows
 */
function faultsOfKeys(runs, rows) {
  const outer = rows.filter(({ parent_id, status }) => parent_id === null && status !== "DENIED");
  const executions = countBy(outer, ({ input }) => (input === null ? "" : String(JSON.parse(input).run)));
  return runs.flatMap(({ run, kind, key }) => {
    const count = executions.get(String(run)) ?? 0;
    return key !== undefined && count > 1 ? [`run ${run} (${kind.name}) has one key and ${count} executions`] : [];
  });
}

/** @param {readonly Row[]} rows */
function faultsOfNesting(rows) {
  const inside = countBy(
    rows.filter(({ status }) => status === "SUCCESS"),
    ({ parent_id }) => parent_id ?? "",
  );
  return rows
    .filter(({ id, skill_name, status }) => skill_name === "nested" && status === "SUCCESS" && inside.get(id) !== 1)
    .map(({ id }) => `execution ${id} of nested is SUCCESS, with ${inside.get(id) ?? 0} calls inside that are`);
}

/**
 * @template Item
 * @param {readonly Item[]} items
 * @param {(item: Item) => string} keyOf
 * @returns {Map<string, number>}
 */
export function countBy(items, keyOf) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const item of items) counts.set(keyOf(item), (counts.get(keyOf(item)) ?? 0) + 1);
  return counts;
}
