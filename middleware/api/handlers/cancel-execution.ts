import { findExecution } from "../own-execution.js";
import { defineRoute } from "../route.js";
import { showExecution } from "../show.js";

export const cancelExecution = defineRoute<Record<never, never>, unknown>({
  method: "POST",
  path: "executions/{id}/cancel",
  role: "caller",
  id: "cancelExecution",
  summary: "End an execution that runs",
  description: "It ends with the status `CANCELLED` as soon as it is told; its events say when.",
  responses: { 202: { description: "It is told to end. The execution as it is now.", body: "Execution", headers: ["Location"] } },
  async handle({ kit, caller, params, link }) {
    const { id } = await findExecution(kit, caller, params["id"] ?? "");
    await kit.executor.cancel(id);
    const body = showExecution(caller, await findExecution(kit, caller, id));
    return { status: 202, body, headers: { Location: link(`executions/${id}`) } };
  },
});
