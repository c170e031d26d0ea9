import { defineRoute } from "../route.js";

export const getSettings = defineRoute({
  method: "GET",
  path: "settings",
  role: "operator",
  id: "getSettings",
  summary: "The settings that all processes share",
  responses: { 200: { description: "The settings.", body: "Settings" } },
  async handle({ kit }) {
    return { status: 200, body: { skillsEnabled: await kit.registry.getSkillsEnabled() } };
  },
});

export const changeSettings = defineRoute<Record<never, never>, { readonly skillsEnabled: boolean }>({
  method: "PATCH",
  path: "settings",
  role: "admin",
  id: "changeSettings",
  summary: "Turn all skills on or off",
  body: { component: "Settings", isChecked: true },
  responses: { 200: { description: "The settings as they are now.", body: "Settings" } },
  async handle({ kit, body }) {
    await kit.registry.setSkillsEnabled(body.skillsEnabled);
    return { status: 200, body: { skillsEnabled: await kit.registry.getSkillsEnabled() } };
  },
});
