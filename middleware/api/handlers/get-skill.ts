import { findVersion } from "../owner.js";
import { parameters } from "../parameters.js";
import { noSuchSkill } from "../problems.js";
import { defineRoute } from "../route.js";
import { showSkill } from "../show.js";

export const getSkill = defineRoute<{ readonly owner?: string }>({
  method: "GET",
  path: "skills/{name}/versions/{version}",
  role: "caller",
  id: "getSkill",
  summary: "One version with its content",
  query: { owner: parameters.skillOwner },
  responses: { 200: { description: "The version.", body: "Skill" } },
  async handle({ kit, caller, params, query }) {
    const head = await findVersion(kit, caller, params, query.owner);
    const skill = await kit.registry.getSkill(`${head.name}@${head.version}`, head.apiKeyId);
    if (skill === undefined) throw noSuchSkill(head.name, head.version);
    return { status: 200, body: showSkill(caller, skill) };
  },
});
