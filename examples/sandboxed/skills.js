import { javaScriptRunner, pythonRunner } from "./runners.js";

const schema = /** @type {const} */ ({
  type: "object",
  properties: { source: { type: "string", minLength: 1, maxLength: 100_000 }, input: {} },
  required: ["source"],
  additionalProperties: false,
});

const outputSchema = /** @type {const} */ ({
  type: "object",
  properties: { result: {}, error: { type: "string" }, log: { type: "array", items: { type: "string" } } },
  required: ["log"],
});

/**
 * What both languages have in common. Nothing is said of network, files, user and privileges: a container has none of them by default.
 * A container answers one request and is thrown away; `warm` of them wait for the next ones, their interpreter already running.
 */
const common = /** @type {const} */ ({
  schema,
  outputSchema,
  timeoutMs: 3_000,
  // Code that failed would fail again; nor is anybody's endless loop a reason to pause the skill for others.
  concurrency: { limit: 8, queue: 32 },
});
const container = /** @type {const} */ ({ reply: "line", memoryMb: 128, pidsLimit: 64, maxOutputBytes: 256 * 1024, warm: 2 });

/**
 * @param {import("express-skills").SkillsKit} kit
 * @param {{ node: string, python: string | undefined }} images
 */
export function defineSkills(kit, images) {
  const javascript = kit.define({
    ...common,
    name: "run-javascript",
    description: "Runs the default export of a JavaScript module",
    container: { ...container, image: images.node, command: ["node", "--input-type=module", "--eval", javaScriptRunner] },
  });
  if (images.python === undefined) return { javascript };
  const python = kit.define({
    ...common,
    name: "run-python",
    description: "Runs the function `main` of a Python program",
    container: { ...container, image: images.python, command: ["python3", "-c", pythonRunner] },
  });
  return { javascript, python };
}
