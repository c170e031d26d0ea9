import { openExecutionSource } from "../events/execution-source.js";
import { findExecution } from "../own-execution.js";
import { headers } from "../parameters.js";
import { noSuchExecution } from "../problems.js";
import { hasRole } from "../roles.js";
import { defineRoute } from "../route.js";
import { showExecution } from "../show.js";

export const executionEvents = defineRoute({
  method: "GET",
  path: "executions/{id}/events",
  role: "caller",
  id: "followExecution",
  summary: "What happens to one execution, as Server-Sent Events",
  description:
    "First `state` (`{ execution, progress, log }`), then `status` (the execution), `progress`, and for operators `log` and `stderr` (lines) and `gap` (`{ lines }` that were too many to be kept). Ends after the final status. A client that comes back with `Last-Event-ID` gets what it missed, or `state` again.",
  headers: { "Last-Event-ID": headers.lastEventId },
  responses: { 200: { description: "The events.", type: "text/event-stream" } },
  async handle({ kit, caller, params, header }) {
    const { id } = await findExecution(kit, caller, params["id"] ?? "");
    const options = {
      executor: kit.executor,
      id,
      lastEventId: header("last-event-id"),
      withLines: hasRole(caller, "operator"),
      show: showExecution.bind(undefined, caller) as <T>(execution: T) => T,
    };
    return {
      status: 200,
      async stream(wake) {
        const source = await openExecutionSource(options, wake);
        if (source === undefined) throw noSuchExecution(id);
        return source;
      },
    };
  },
});
