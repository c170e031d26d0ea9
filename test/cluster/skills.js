// The skills of the test, for web processes and for `express-skills worker --require`. What a handler does to the world is a line in a file,
// appended in one write: `execution run name pid`. Of a container, that this process has begun with it.
import { appendFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { INNER, kinds } from "./kinds.js";

/** @typedef {import("express-skills/core").HandlerContext} HandlerContext */

const schema = /** @type {const} */ ({
  type: "object",
  properties: { run: { type: "integer" }, ms: { type: "number" } },
  required: ["run", "ms"],
  additionalProperties: false,
});
/** The skill that is a container. */
const CONTAINER = "container";
const CONTAINER_TIMEOUT_MS = 60_000;

/** @param {Pick<import("express-skills/core").SkillsKit, "define" | "executor">} kit */
export function defineSkills(kit) {
  const { CLUSTER_EFFECTS: effects = "", CLUSTER_IMAGE: image = "" } = process.env;
  /** @param {string} id @param {number} run @param {string} name */
  const write = (id, run, name) => appendFileSync(effects, `${id} ${run} ${name} ${process.pid}\n`);
  /** @param {number} run @param {HandlerContext} context */
  const note = (run, { executionId, skill }) => write(executionId, run, skill.name);
  kit.executor.events.watchAll({
    onStatus({ value: { id, skillName, status, input } }) {
      if (skillName === CONTAINER && status === "RUNNING" && kit.executor.isRunning(id)) write(id, Object(input).run, skillName);
    },
    onClose() {},
  });

  kit.define({
    name: INNER,
    schema,
    handler: ({ run }, context) => {
      note(run, context);
      return run;
    },
  });
  for (const { name, idempotent, needsEngine } of kinds) {
    if (needsEngine && image === "") continue;
    const policy = { name, idempotent, schema, ...(needsEngine && { timeoutMs: CONTAINER_TIMEOUT_MS }) };
    if (name === CONTAINER) kit.define({ ...policy, container: { image, command: ["cat"], memoryMb: 64 } });
    else {
      const handler = handlers(image)[name];
      if (handler === undefined) throw new Error(`${name} has no handler`);
      kit.define({
        ...policy,
        handler: async ({ run, ms }, context) => {
          note(run, context);
          return handler({ run, ms }, context);
        },
      });
    }
  }
}

/**
 * @param {string} image
 * @returns {Record<string, (input: { run: number, ms: number }, context: HandlerContext) => unknown>}
 */
function handlers(image) {
  /** @param {{ run: number, ms: number }} input @param {HandlerContext} context */
  const sleep = async ({ run, ms }, { signal }) => {
    await delay(ms, undefined, { signal });
    return run;
  };
  /** @param {{ run: number }} input */
  const echo = ({ run }) => run;
  return {
    quick: echo,
    "quick-again": echo,
    nested: (input, context) => context.run(INNER, input),
    failing: ({ run }) => {
      throw new Error(`Run ${run} fails, as it shall`);
    },
    slow: sleep,
    "slow-again": sleep,
    sandboxed: async ({ run }, { sandbox }) => {
      const { stdout } = await sandbox.run(image, ["echo", String(run)], {}, { memoryMb: 64 });
      return Number(stdout);
    },
  };
}
