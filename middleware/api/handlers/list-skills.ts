import type { SkillMode } from "../../../lib/index.js";
import { parseSkillCursor, renderSkillCursor } from "../cursor.js";
import { checkSkillOwner } from "../owner.js";
import { DEFAULT_LIMIT, parameters } from "../parameters.js";
import { hasRole } from "../roles.js";
import { defineRoute } from "../route.js";

interface Query {
  readonly name?: string;
  readonly tag?: string;
  readonly mode?: SkillMode;
  readonly enabled?: boolean;
  readonly owner?: string;
  readonly limit?: number;
  readonly cursor?: string;
}

export const listSkills = defineRoute<Query>({
  method: "GET",
  path: "skills",
  role: "caller",
  id: "listSkills",
  summary: "The versions of skills",
  description:
    "By name, then owner, then newest first. A caller gets its own skills, and those of `system` under names of which it owns no version; `owner` narrows that. Operators get those of every owner.",
  query: {
    name: parameters.name,
    tag: { type: "string", minLength: 1, maxLength: 64, description: "One of its tags." },
    mode: { type: "string", enum: ["on", "off", "auto"] },
    enabled: { type: "boolean" },
    owner: parameters.skillOwner,
    limit: parameters.limit,
    cursor: parameters.cursor,
  },
  responses: { 200: { description: "A page of versions, without their content.", body: "SkillPage" } },
  async handle({ kit, caller, query }) {
    const { limit = DEFAULT_LIMIT, cursor, owner, ...conditions } = query;
    checkSkillOwner(caller, owner);
    const visibleTo = hasRole(caller, "operator") ? undefined : caller.apiKeyId;
    const after = cursor === undefined ? undefined : parseSkillCursor(cursor);
    const found = await kit.registry.listPage({ ...conditions, apiKeyId: owner, visibleTo }, limit + 1, after);
    const items = found.slice(0, limit);
    const last = items.at(-1);
    return { status: 200, body: { items, nextCursor: found.length > limit && last ? renderSkillCursor(last) : null } };
  },
});
