import { isSkillError } from "../../../lib/index.js";
import { defineRoute } from "../route.js";

export const getEngines = defineRoute({
  method: "GET",
  path: "engines",
  role: "operator",
  id: "getEngines",
  summary: "The container engine, and what runs on it",
  description: "`sandbox` is null when no engine answers, and `problem` says why.",
  responses: { 200: { description: "The engine.", body: "Engines" } },
  async handle({ kit }) {
    try {
      const sandbox = await kit.sandbox.describe();
      return { status: 200, body: { sandbox, stats: kit.sandbox.stats() ?? null, problem: null } };
    } catch (error) {
      if (!isSkillError(error)) throw error;
      const problem = { code: error.code, detail: error.message };
      return { status: 200, body: { sandbox: null, stats: kit.sandbox.stats() ?? null, problem } };
    }
  },
});
