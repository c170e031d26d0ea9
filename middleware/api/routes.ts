import { createAllEvents } from "./handlers/all-events.js";
import { cancelExecution } from "./handlers/cancel-execution.js";
import { changeSkill } from "./handlers/change-skill.js";
import { executionEvents } from "./handlers/execution-events.js";
import { getEngines } from "./handlers/get-engines.js";
import { getExecution } from "./handlers/get-execution.js";
import { createGetOpenApi } from "./handlers/get-openapi.js";
import { getSkill } from "./handlers/get-skill.js";
import { getStats } from "./handlers/get-stats.js";
import { getTree } from "./handlers/get-tree.js";
import { getHealth, getReady } from "./handlers/health.js";
import { listExecutions } from "./handlers/list-executions.js";
import { listSkills } from "./handlers/list-skills.js";
import { listVersions } from "./handlers/list-versions.js";
import { registerSkill } from "./handlers/register-skill.js";
import { retryExecution } from "./handlers/retry-execution.js";
import { runSkill } from "./handlers/run-skill.js";
import { changeSettings, getSettings } from "./handlers/settings.js";
import { unregisterSkill } from "./handlers/unregister-skill.js";
import { describeApi } from "./openapi.js";
import type { AnyRoute } from "./route.js";

/** The table: every route of one API, from which its router and its OpenAPI document are made. */
export function createRoutes(): readonly AnyRoute[] {
  let document: object | undefined;
  const routes: readonly AnyRoute[] = Object.freeze([
    listSkills,
    registerSkill,
    listVersions,
    getSkill,
    changeSkill,
    unregisterSkill,
    runSkill,
    listExecutions,
    createAllEvents(),
    getExecution,
    getTree,
    executionEvents,
    cancelExecution,
    retryExecution,
    getSettings,
    changeSettings,
    getStats,
    getEngines,
    getHealth,
    getReady,
    createGetOpenApi(() => {
      document ??= describeApi(routes);
      return document;
    }),
  ]);
  return routes;
}
