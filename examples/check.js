// Runs the check of every example and ends with the count of those that passed, failed and were skipped. A check that finds no container
// engine is skipped, or has failed where SKILLS_TEST_ENGINES says that engines must be there.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";

const examples = readdirSync(new URL(".", import.meta.url), { withFileTypes: true }).filter((entry) => entry.isDirectory());
const enginesAreNeeded = !["", "none"].includes(process.env.SKILLS_TEST_ENGINES ?? "");
const results = examples.map(({ name }) => ({ name, result: check(name) }));
const named = (/** @type {string} */ wanted) => results.filter(({ result }) => result === wanted).map(({ name }) => name);

const [passed, failed, skipped] = [named("passed"), named("failed"), named("skipped")];
console.log(`Examples: ${passed.length} passed, ${failed.length} failed, ${skipped.length} skipped`);
for (const name of failed) console.log(`  failed: ${name}`);
for (const name of skipped) console.log(`  skipped: ${name}`);
process.exitCode = failed.length === 0 ? 0 : 1;

/** @param {string} name */
function check(name) {
  const file = new URL(`${name}/check.js`, import.meta.url);
  if (!existsSync(file)) {
    console.error(`${name} has no check.js`);
    return "failed";
  }
  const { status } = spawnSync(process.execPath, [fileURLToPath(file)], {
    stdio: ["ignore", "inherit", "inherit"],
    timeout: 120_000,
  });
  if (status === 77) return enginesAreNeeded ? "failed" : "skipped";
  return status === 0 ? "passed" : "failed";
}
