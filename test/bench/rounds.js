/**
 * @typedef {object} Row
 * @property {string} what
 * @property {number[]} ratios one for each round
 * @property {number} median
 * @property {{ kind: "at least" | "at most", ratio: number }} [bar] what we hold ourselves to
 * @property {string} details the figures behind the ratio
 */

/** The folder for databases, and whether to be quick. */
export const folder = process.argv[2] ?? ".";
export const isQuick = process.argv.includes("--quick");

/**
 * Measures two things in turn, so that whatever else the machine does falls on both, and in changing order, so that neither always goes
 * first.
 * @param {number} rounds
 * @param {() => Promise<number>} measureOne
 * @param {() => Promise<number>} measureOther
 */
export async function interleave(rounds, measureOne, measureOther) {
  /** @type {number[]} */
  const one = [];
  /** @type {number[]} */
  const other = [];
  for (let round = 0; round < rounds; round += 1) {
    if (round % 2 === 0) one.push(await measureOne());
    other.push(await measureOther());
    if (round % 2 === 1) one.push(await measureOne());
  }
  return { ratios: one.map((value, round) => value / (other[round] ?? Number.NaN)), one: median(one), other: median(other) };
}

/** @param {readonly number[]} values */
export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? Number.NaN)) / 2;
}

/**
 * @param {string} what
 * @param {Awaited<ReturnType<typeof interleave>>} measured
 * @param {string} unit of the figures, after the names of what they belong to
 * @param {Row["bar"]} [bar]
 * @returns {Row}
 */
export function row(what, { ratios, one, other }, unit, bar) {
  const details = `${format(one)} against ${format(other)} ${unit}`;
  return { what, ratios, median: median(ratios), details, ...(bar && { bar }) };
}

/** @param {Row[]} rows */
export function report(rows) {
  process.stdout.write(JSON.stringify(rows));
}

/** @param {number} value */
function format(value) {
  return value >= 100 ? Math.round(value).toLocaleString("en") : value.toFixed(3);
}
