// Runs every benchmark in a process of its own, prints a table of ratios, and writes them to bench-results.json.
// `--quick` takes less than two minutes: enough to see that a bar is far off, not for a figure to quote.
import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { availableParallelism, cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** @typedef {import("./rounds.js").Row} Row */

const benchmarks = [
  "route.js",
  "execute.js",
  "postgres.js",
  "queue.js",
  "look-up.js",
  "sandbox/containers.js",
  "sandbox/route.js",
];
const isQuick = process.argv.includes("--quick");

/** @type {Row[]} */
const rows = [];
for (const benchmark of benchmarks) rows.push(...(await measure(benchmark)));

printTable(rows);
const machine = { node: process.version, cpu: cpus()[0]?.model, cores: availableParallelism() };
await writeFile(
  fileURLToPath(new URL("../../bench-results.json", import.meta.url)),
  `${JSON.stringify({ measuredAt: new Date().toISOString(), isQuick, machine, rows }, null, 2)}\n`,
);

/**
 * @param {string} benchmark
 * @returns {Promise<Row[]>}
 */
async function measure(benchmark) {
  // Not under /tmp where that is a file system in memory: what is measured is work on a disk.
  const folder = await mkdtemp(join(process.env.BENCH_FOLDER ?? tmpdir(), "express-skills-bench-"));
  try {
    const file = fileURLToPath(new URL(benchmark, import.meta.url));
    const child = spawn(process.execPath, [file, folder, ...(isQuick ? ["--quick"] : [])], {
      env: { ...process.env, NODE_ENV: "production" },
      stdio: ["ignore", "pipe", "inherit"],
    });
    let output = "";
    for await (const chunk of child.stdout.setEncoding("utf8")) output += chunk;
    return JSON.parse(output);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** @param {Row[]} measured */
function printTable(measured) {
  const cells = [["what", "ratio", "range", "rounds", "bar", ""], ...measured.map(cellsOf)];
  const widths = cells[0]?.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0))) ?? [];
  for (const row of cells)
    console.log(
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    );
  console.log();
  for (const { what, details } of measured) console.log(`${what}: ${details}`);
}

/** @param {Row} row */
function cellsOf({ what, ratios, median, bar }) {
  const range = `${Math.min(...ratios).toFixed(2)}-${Math.max(...ratios).toFixed(2)}`;
  const common = [what, median.toFixed(2), range, String(ratios.length)];
  if (bar === undefined) return [...common, "none", ""];
  const isMet = bar.kind === "at least" ? median >= bar.ratio : median <= bar.ratio;
  return [...common, `${bar.kind} ${bar.ratio}`, isMet ? "met" : `MISSED by ${Math.abs(median - bar.ratio).toFixed(2)}`];
}
