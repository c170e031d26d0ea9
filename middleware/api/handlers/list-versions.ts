import { findVersions } from "../owner.js";
import { parameters } from "../parameters.js";
import { defineRoute } from "../route.js";

export const listVersions = defineRoute<{ readonly owner?: string }>({
  method: "GET",
  path: "skills/{name}",
  role: "caller",
  id: "listVersions",
  summary: "The versions of one skill, newest first",
  query: { owner: parameters.skillOwner },
  responses: { 200: { description: "Every version, without its content.", body: "SkillVersions" } },
  async handle({ kit, caller, params, query }) {
    return { status: 200, body: { items: await findVersions(kit, caller, params["name"] ?? "", query.owner) } };
  },
});
