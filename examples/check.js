// Runs the check of every example and ends with the count of those that passed and failed.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";

const examples = readdirSync(new URL(".", import.meta.url), { withFileTypes: true }).filter((entry) => entry.isDirectory());
const failed = examples.map(({ name }) => name).filter((name) => !passes(name));

console.log(
  `Examples: ${examples.length - failed.length} passed, ${failed.length} failed${failed.map((name) => `\n  ${name}`).join("")}`,
);
process.exitCode = failed.length === 0 ? 0 : 1;

/** @param {string} name */
function passes(name) {
  const check = new URL(`${name}/check.js`, import.meta.url);
  if (!existsSync(check)) {
    console.error(`${name} has no check.js`);
    return false;
  }
  const { status } = spawnSync(process.execPath, [fileURLToPath(check)], {
    stdio: ["ignore", "inherit", "inherit"],
    timeout: 120_000,
  });
  return status === 0;
}
