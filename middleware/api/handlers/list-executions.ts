import { EXECUTION_STATUSES, type ExecutionStatus } from "../../../lib/index.js";
import { readableOwner } from "../owner.js";
import { DEFAULT_LIMIT, parameters } from "../parameters.js";
import { defineRoute } from "../route.js";
import { showExecution, toSummary } from "../show.js";
import { parseTime } from "../time.js";

interface Query {
  readonly status?: readonly ExecutionStatus[];
  readonly skill?: string;
  readonly version?: string;
  readonly session?: string;
  readonly owner?: string;
  readonly from?: string;
  readonly to?: string;
  readonly limit?: number;
  readonly cursor?: string;
}

export const listExecutions = defineRoute<Query>({
  method: "GET",
  path: "executions",
  role: "caller",
  id: "listExecutions",
  summary: "Executions, newest first",
  description: "Without their inputs and outputs. A caller gets its own; operators get those of every owner.",
  query: {
    status: {
      type: "array",
      items: { type: "string", enum: EXECUTION_STATUSES },
      minItems: 1,
      maxItems: EXECUTION_STATUSES.length,
      description: "Any of these; give it several times.",
    },
    skill: parameters.name,
    version: parameters.version,
    session: { type: "string", minLength: 1, maxLength: 200, description: "Calls of this session." },
    owner: parameters.owner,
    from: parameters.from,
    to: parameters.to,
    limit: parameters.limit,
    cursor: { ...parameters.cursor, pattern: "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$" },
  },
  responses: { 200: { description: "A page of executions.", body: "ExecutionPage" } },
  async handle({ kit, caller, query }) {
    const { limit = DEFAULT_LIMIT, cursor } = query;
    const found = await kit.executor.listExecutions({
      apiKeyId: readableOwner(caller, query.owner),
      status: query.status,
      skillName: query.skill,
      skillVersion: query.version,
      sessionId: query.session,
      createdAfter: parseTime("from", query.from),
      createdBefore: parseTime("to", query.to),
      cursor,
      limit: limit + 1,
      withData: false,
    });
    const page = found.slice(0, limit);
    const items = page.map((execution) => showExecution(caller, toSummary(execution)));
    return { status: 200, body: { items, nextCursor: found.length > limit ? (page.at(-1)?.id ?? null) : null } };
  },
});
