import { Logger } from "graphile-worker";
import pg from "pg";

/** What graphile-worker runs with on both sides: as express-skills has it. */
export const jobSettings = {
  concurrency: 10,
  pollInterval: 1_000,
  noHandleSignals: true,
  logger: new Logger(() => () => {}),
  preset: { worker: { completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
};

/** As many connections as a kit with a worker has. */
const POOL_SIZE = 16;

const silent = () => {};
export const quiet = { debug: silent, info: silent, warn: console.error, error: console.error };

/** @type {{ type: "object", properties: { text: { type: "string", minLength: 1 } }, required: ["text"] }} */
export const schema = { type: "object", properties: { text: { type: "string", minLength: 1 } }, required: ["text"] };
export const input = { text: "The quick brown fox jumps over the lazy dog." };

/** @param {{ text: string }} input */
export const work = ({ text }) => ({ length: text.length });

/**
 * The pool of graphile-worker alone.
 * @param {string} url
 */
export function openPool(url) {
  const pool = new pg.Pool({ connectionString: url, max: POOL_SIZE });
  // Without these it warns; what breaks is told by the query.
  pool.on("error", () => {});
  pool.on("connect", (client) => void client.on("error", () => {}));
  return pool;
}
