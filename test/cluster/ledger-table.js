import { INNER, kinds } from "./kinds.js";
import { countBy } from "./ledger.js";

const STATUSES = ["SUCCESS", "ERROR", "TIMEOUT", "CANCELLED", "INTERRUPTED", "DENIED", "RUNNING", "QUEUED"];

/**
 * The ledger as a table: a row a skill.
 *
 * @param {import("./ledger.js").Ledger} ledger
 * @returns {string}
 */
export function tabulate({ runs, rows, effects }) {
  const head = ["skill", "asked", "accepted", "answered", "refused", "cut", ...STATUSES, "done", "done again"];
  const lines = [...kinds.map(({ name }) => name), INNER].map((name) => {
    const own = runs.filter(({ kind }) => kind.name === name);
    const statuses = countBy(
      rows.filter(({ skill_name }) => skill_name === name),
      ({ status }) => status,
    );
    const done = effects.filter((effect) => effect.name === name);
    const distinct = new Set(done.map(({ run }) => run)).size;
    return [
      name,
      own.length,
      own.filter(({ id }) => id !== undefined).length,
      own.filter(({ answered }) => answered !== undefined).length,
      own.filter(({ id, problem }) => id === undefined && problem !== CUT).length,
      own.filter(({ id, problem }) => id === undefined && problem === CUT).length,
      ...STATUSES.map((status) => statuses.get(status) ?? 0),
      done.length,
      done.length - distinct,
    ];
  });
  const sums = head.map((_, column) => (column === 0 ? "all" : lines.reduce((sum, line) => sum + Number(line[column]), 0)));
  return align([head, ...lines, sums]);
}

const CUT = "the connection was cut";

/** @param {readonly (readonly (string | number)[])[]} lines */
function align(lines) {
  const widths = (lines[0] ?? []).map((_, column) => Math.max(...lines.map((line) => String(line[column]).length)));
  return lines
    .map((line) =>
      line
        .map((cell, column) =>
          column === 0 ? String(cell).padEnd(widths[column] ?? 0) : String(cell).padStart(widths[column] ?? 0),
        )
        .join("  "),
    )
    .join("\n");
}
