import { findExecution } from "../own-execution.js";
import { defineRoute } from "../route.js";
import { showExecution } from "../show.js";

export const getExecution = defineRoute({
  method: "GET",
  path: "executions/{id}",
  role: "caller",
  id: "getExecution",
  summary: "One execution",
  description: "Input and output as they are stored: redacted, and cut when they are large.",
  responses: { 200: { description: "The execution.", body: "Execution" } },
  async handle({ kit, caller, params }) {
    return { status: 200, body: showExecution(caller, await findExecution(kit, caller, params["id"] ?? "")) };
  },
});
