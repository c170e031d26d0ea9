import { isSkillError, SkillError } from "../../../lib/index.js";
import { defineRoute } from "../route.js";

export const getHealth = defineRoute({
  method: "GET",
  path: "health",
  role: null,
  id: "getHealth",
  summary: "Whether the process answers",
  responses: { 200: { description: "It does.", body: "Health" } },
  handle: () => ({ status: 200, body: { status: "ok" } }),
});

export const getReady = defineRoute({
  method: "GET",
  path: "ready",
  role: null,
  id: "getReady",
  summary: "Whether calls can be taken",
  description:
    "503 while the database cannot be read, the audit cannot be written, a definition is not valid, or the kit is closed.",
  responses: { 200: { description: "They can.", body: "Health" } },
  async handle({ kit }) {
    try {
      await kit.ready();
      // Goes to the database, whatever it finds.
      await kit.executor.getExecution("ready");
    } catch (error) {
      throw notReady(error);
    }
    if (kit.executor.auditStats()?.failing === true)
      throw new SkillError("AUDIT_UNAVAILABLE", "The audit cannot be written.", { retryAfterMs: 1_000 });
    return { status: 200, body: { status: "ok" } };
  },
});

/** Everybody may ask, so the text stays inside. */
function notReady(error: unknown): SkillError {
  const code = isSkillError(error) ? error.code : "STORE_UNAVAILABLE";
  return new SkillError(code, "", { status: 503, expose: false, cause: error });
}
