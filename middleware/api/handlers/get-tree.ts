import type { ExecutionTree } from "../../../lib/index.js";
import { findExecution } from "../own-execution.js";
import { noSuchExecution } from "../problems.js";
import type { ApiIdentity } from "../roles.js";
import { defineRoute } from "../route.js";
import { showExecution, toSummary } from "../show.js";

export const getTree = defineRoute({
  method: "GET",
  path: "executions/{id}/tree",
  role: "caller",
  id: "getExecutionTree",
  summary: "One execution with the calls that were made in it",
  description:
    "`root` is the execution that was asked for; each node has its `children`, oldest first, which have no inputs and outputs. The first 1,000 calls of the tree are read; `isCut` says whether there are more.",
  responses: { 200: { description: "The tree.", body: "ExecutionTree" } },
  async handle({ kit, caller, params }) {
    const { id } = await findExecution(kit, caller, params["id"] ?? "");
    const tree = await kit.executor.getExecutionTree(id);
    if (tree === undefined) throw noSuchExecution(id);
    const root = { ...showExecution(caller, tree.execution), children: childrenOf(caller, tree) };
    return { status: 200, body: { root, isCut: tree.isCut } };
  },
});

function childrenOf(caller: ApiIdentity, { children }: ExecutionTree): object[] {
  return children.map((child) => ({
    ...showExecution(caller, toSummary(child.execution)),
    children: childrenOf(caller, child),
  }));
}
