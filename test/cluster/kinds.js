/**
 * @typedef {object} Kind what a skill of the test is like
 * @property {string} name
 * @property {number} share of all runs, in percent
 * @property {boolean} idempotent
 * @property {boolean} [needsEngine]
 * @property {readonly string[]} ends how its executions may end, whatever happens to the processes
 */

/** What an execution is that was running in a process that was killed, and may not be run again. */
const CUT = "INTERRUPTED";

/** @type {readonly Kind[]} */
export const kinds = [
  { name: "quick", share: 31, idempotent: false, ends: ["SUCCESS", CUT] },
  { name: "quick-again", share: 26, idempotent: true, ends: ["SUCCESS", CUT] },
  // The call inside is refused while the database is away, and this one fails with it.
  { name: "nested", share: 15, idempotent: false, ends: ["SUCCESS", "ERROR", CUT] },
  { name: "failing", share: 8, idempotent: false, ends: ["ERROR", CUT] },
  { name: "slow", share: 8, idempotent: false, ends: ["SUCCESS", CUT] },
  { name: "slow-again", share: 8, idempotent: true, ends: ["SUCCESS", CUT] },
  // Engines on a busy machine are slow, and an engine may refuse.
  { name: "container", share: 2, idempotent: false, needsEngine: true, ends: ["SUCCESS", "ERROR", "TIMEOUT", CUT] },
  { name: "sandboxed", share: 2, idempotent: false, needsEngine: true, ends: ["SUCCESS", "ERROR", "TIMEOUT", CUT] },
];

/** The skill that `nested` calls. */
export const INNER = "inner";
