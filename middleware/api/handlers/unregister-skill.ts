import { findVersion } from "../owner.js";
import { parameters } from "../parameters.js";
import { noSuchSkill } from "../problems.js";
import { defineRoute } from "../route.js";

export const unregisterSkill = defineRoute<{ readonly owner?: string; readonly force?: "true" | "false" }>({
  method: "DELETE",
  path: "skills/{name}/versions/{version}",
  role: "admin",
  id: "unregisterSkill",
  summary: "Remove a version",
  description:
    "Its executions stay. Registering other content under it later needs `replace`. Refused while queued work names it, unless `force` is given.",
  query: { owner: parameters.owner, force: parameters.force },
  responses: { 204: { description: "It is removed." } },
  async handle({ kit, caller, params, query }) {
    const { name, version, apiKeyId } = await findVersion(kit, caller, params, query.owner);
    const force = query.force === "true";
    if ((await kit.registry.unregister(name, version, apiKeyId, { force })) === 0) throw noSuchSkill(name, version);
    return { status: 204 };
  },
});
