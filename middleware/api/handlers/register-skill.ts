import { isSkillError, type SkillDefinition, SkillError, type SkillHead, type SkillsKit } from "../../../lib/index.js";
import { findVersion } from "../owner.js";
import { parameters } from "../parameters.js";
import { defineRoute } from "../route.js";

type Body = SkillDefinition & { readonly replace?: unknown };

export const registerSkill = defineRoute<{ readonly owner?: string }, Body>({
  method: "POST",
  path: "skills",
  role: "admin",
  id: "registerSkill",
  summary: "Register a version",
  description:
    "Its owner is `apiKeyId` of the definition, else `owner`, else `system`. Schemas are bounded and their patterns run on a linear-time engine, so that no definition can stop the server. The same content again changes nothing; other content under a version that exists is refused (409) unless `replace` is true. A container needs an image that the server's option `sandbox.images` names, and gets no network and at most the default limits.",
  query: { owner: parameters.actingOwner },
  body: { component: "SkillRegistration", isChecked: false },
  responses: {
    200: { description: "The version existed; now it has this content.", body: "Skill", headers: ["Location"] },
    201: { description: "The version is new.", body: "Skill", headers: ["Location"] },
  },
  async handle({ kit, caller, query, body, link }) {
    const { replace = false, ...given } = Object(body) as Body;
    if (typeof replace !== "boolean")
      throw new SkillError("INVALID_DEFINITION", "The definition is not valid: replace must be true or false.", {
        faults: [{ pointer: "/replace", message: "must be true or false" }],
      });
    const definition = query.owner === undefined || given.apiKeyId !== undefined ? given : { ...given, apiKeyId: query.owner };
    const before = await existing(kit, caller, definition);
    // A body that is no object is refused as one, with what the registry says of it.
    const isObject = typeof body === "object" && body !== null && !Array.isArray(body);
    const skill = await kit.registry.register(isObject ? definition : body, { replace, registrant: true });
    const address = `skills/${encodeURIComponent(skill.name)}/versions/${encodeURIComponent(skill.version)}`;
    const headers = { Location: link(`${address}?owner=${encodeURIComponent(skill.apiKeyId)}`) };
    return { status: before === undefined ? 201 : 200, body: skill, headers };
  },
});

/** The version as it is, when the definition names one. */
async function existing(
  kit: SkillsKit,
  caller: Parameters<typeof findVersion>[1],
  { name, version = "1.0.0", apiKeyId = "system" }: Partial<SkillDefinition>,
): Promise<SkillHead | undefined> {
  if (typeof name !== "string" || typeof version !== "string" || typeof apiKeyId !== "string") return undefined;
  try {
    return await findVersion(kit, caller, { name, version }, apiKeyId);
  } catch (error) {
    if (isSkillError(error) && error.code === "SKILL_NOT_FOUND") return undefined;
    throw error;
  }
}
