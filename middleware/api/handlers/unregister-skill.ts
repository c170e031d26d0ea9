import { findVersion } from "../owner.js";
import { parameters } from "../parameters.js";
import { noSuchSkill } from "../problems.js";
import { defineRoute } from "../route.js";

export const unregisterSkill = defineRoute<{ readonly owner?: string }>({
  method: "DELETE",
  path: "skills/{name}/versions/{version}",
  role: "admin",
  id: "unregisterSkill",
  summary: "Remove a version",
  description: "Its executions stay. Registering other content under it later needs `replace`.",
  query: { owner: parameters.owner },
  responses: { 204: { description: "It is removed." } },
  async handle({ kit, caller, params, query }) {
    const { name, version, apiKeyId } = await findVersion(kit, caller, params, query.owner);
    if ((await kit.registry.unregister(name, version, apiKeyId)) === 0) throw noSuchSkill(name, version);
    return { status: 204 };
  },
});
