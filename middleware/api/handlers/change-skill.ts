import { SkillError, type SkillHead, type SkillMode } from "../../../lib/index.js";
import { findVersion } from "../owner.js";
import { parameters } from "../parameters.js";
import { hasRole } from "../roles.js";
import { defineRoute } from "../route.js";

interface Change {
  readonly enabled?: boolean;
  readonly mode?: SkillMode;
  readonly description?: string;
  readonly tags?: readonly string[];
}

export const changeSkill = defineRoute<{ readonly owner?: string }, Change>({
  method: "PATCH",
  path: "skills/{name}/versions/{version}",
  role: "operator",
  id: "changeSkill",
  summary: "Switch a version, or describe it anew",
  description: "Operators may change `enabled` and `mode`; `description` and `tags` are for admins.",
  query: { owner: parameters.owner },
  body: { component: "SkillChange", isChecked: true },
  responses: { 200: { description: "The version as it is now.", body: "SkillHead" } },
  async handle({ kit: { registry }, kit, caller, params, query, body }) {
    const { enabled, mode, ...described } = body;
    if (Object.keys(described).length > 0 && !hasRole(caller, "admin"))
      throw new SkillError("FORBIDDEN", `The role ${caller.role} may change enabled and mode, not description and tags.`);
    let head: SkillHead = await findVersion(kit, caller, params, query.owner);
    const { name, version, apiKeyId } = head;
    // First what may still be refused.
    if (Object.keys(described).length > 0) head = await registry.update(name, version, described, apiKeyId);
    if (mode !== undefined) head = await registry.setMode(name, version, mode, apiKeyId);
    if (enabled !== undefined) head = await registry.setEnabled(name, version, enabled, apiKeyId);
    return { status: 200, body: head };
  },
});
