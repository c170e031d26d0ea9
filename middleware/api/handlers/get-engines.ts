import { isSkillError, type SkillsKit } from "../../../lib/index.js";
import { defineRoute } from "../route.js";

/** What a kit that runs containers has. */
interface DescribesItself {
  describe(): Promise<object>;
  stats(): object;
}

export const getEngines = defineRoute({
  method: "GET",
  path: "engines",
  role: "operator",
  id: "getEngines",
  summary: "The container engine, and what runs on it",
  description: "`sandbox` and `stats` are null when the kit runs no containers; `problem` says why no engine answers.",
  responses: { 200: { description: "The engine.", body: "Engines" } },
  async handle({ kit }) {
    const { sandbox } = kit as SkillsKit & { readonly sandbox?: DescribesItself };
    if (sandbox === undefined) return { status: 200, body: { sandbox: null, stats: null, problem: null } };
    const stats = sandbox.stats();
    try {
      return { status: 200, body: { sandbox: await sandbox.describe(), stats, problem: null } };
    } catch (error) {
      if (!isSkillError(error)) throw error;
      return { status: 200, body: { sandbox: null, stats, problem: { code: error.code, detail: error.message } } };
    }
  },
});
