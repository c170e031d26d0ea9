import { findExecution } from "../own-execution.js";
import { headers } from "../parameters.js";
import { parsePrefer } from "../prefer.js";
import { defineRoute } from "../route.js";
import { replyToStarted } from "../started.js";

export const retryExecution = defineRoute<Record<never, never>, unknown>({
  method: "POST",
  path: "executions/{id}/retry",
  role: "operator",
  id: "retryExecution",
  summary: "Run an execution's skill again",
  description: "The same version and input, for the same owner and session, as an execution of its own.",
  headers: { Prefer: headers.prefer },
  responses: {
    201: { description: "It has ended.", body: "Execution", headers: ["Location", "Preference-Applied"] },
    202: { description: "It goes on.", body: "Execution", headers: ["Location", "Preference-Applied"] },
  },
  async handle(request) {
    const { kit, caller, params, requestId } = request;
    const { id } = await findExecution(kit, caller, params["id"] ?? "");
    const preference = parsePrefer(request.header("prefer"));
    const signal = preference === undefined ? request.signal : undefined;
    return replyToStarted(request, await kit.executor.startRetry(id, { requestId, signal }), preference);
  },
});
