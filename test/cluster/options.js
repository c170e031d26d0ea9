import { parseArgs } from "node:util";

/**
 * @typedef {object} ClusterOptions
 * @property {number} runs how many executions are asked for
 * @property {number} loadMs how long asking takes, when the machine keeps up
 * @property {number} seed of everything that is left to chance
 * @property {boolean} isVerbose whether what the processes log is shown
 */

const LONG = { runs: 5_000, loadMs: 120_000 };
const SHORT = { runs: 400, loadMs: 25_000 };

/** @returns {ClusterOptions} */
export function parseOptions() {
  const { values } = parseArgs({
    options: {
      short: { type: "boolean", default: false },
      runs: { type: "string" },
      seed: { type: "string" },
      verbose: { type: "boolean", default: false },
    },
  });
  const size = values.short ? SHORT : LONG;
  return {
    runs: wholeNumber("runs", values.runs, size.runs),
    loadMs: size.loadMs,
    seed: wholeNumber("seed", values.seed, Math.floor(Math.random() * 1_000_000)),
    isVerbose: values.verbose,
  };
}

/**
 * @param {string} name
 * @param {string | undefined} text
 * @param {number} otherwise
 */
function wholeNumber(name, text, otherwise) {
  if (text === undefined) return otherwise;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new Error(`--${name} must be a whole number`);
}
