// The skills that web processes offer and workers do: each process defines the same ones.
import { setTimeout as delay } from "node:timers/promises";

/** @param {Pick<import("express-skills/core").SkillsKit, "define">} kit */
export function defineSkills(kit) {
  return kit.define({
    name: "report",
    description: "Takes its time, and says which process did the work",
    schema: {
      type: "object",
      properties: { month: { type: "integer", minimum: 1, maximum: 12 }, seconds: { type: "number", minimum: 0, maximum: 60 } },
      required: ["month"],
      additionalProperties: false,
    },
    // When its process dies, another one does it again.
    idempotent: true,
    timeoutMs: 120_000,
    handler: async ({ month, seconds = 3 }, context) => {
      for (let step = 1; step <= 10; step++) {
        await delay(seconds * 100, undefined, { signal: context.signal });
        context.progress(step / 10, `process ${process.pid}`);
      }
      return { month, pid: process.pid };
    },
  });
}
