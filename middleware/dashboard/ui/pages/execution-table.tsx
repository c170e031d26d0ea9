import type { ComponentChildren, VNode } from "preact";
import type { Execution } from "../api/types.js";
import { useNow } from "../data/use-resource.js";
import { formatDuration, shortId } from "../format.js";
import { StatusBadge } from "../parts/status.js";
import { Table, type TableColumn } from "../parts/table.js";
import { Ago } from "../parts/time.js";
import { href } from "../route.js";

export function ExecutionTable({ executions }: { readonly executions: readonly Execution[] }): VNode {
  return <Table caption="Executions, newest first" columns={COLUMNS} rows={executions} keyOf={({ id }) => id} />;
}

const COLUMNS: readonly TableColumn<Execution>[] = [
  {
    title: "Execution",
    isMain: true,
    cell: ({ id, skillName, skillVersion }) => (
      <a href={href(["executions", id])} title={id}>
        {skillName === "" ? shortId(id) : skillName}
        {skillVersion !== "" && <span class="version">{skillVersion}</span>}
      </a>
    ),
  },
  { title: "Status", cell: ({ status }) => <StatusBadge status={status} /> },
  { title: "Duration", isNumber: true, cell: durationOf },
  { title: "Began", cell: ({ createdAt }) => <Ago iso={createdAt} /> },
  { title: "Owner", cell: ({ apiKeyId }) => apiKeyId },
  { title: "Session", cell: ({ sessionId }) => sessionId ?? <span class="faint">–</span> },
  {
    title: "Error",
    cell: ({ errorCode }) => (errorCode === null ? <span class="faint">–</span> : <code class="error-code">{errorCode}</code>),
  },
];

function durationOf({ status, createdAt, durationMs }: Execution): ComponentChildren {
  return status === "RUNNING" ? <Running since={createdAt} /> : formatDuration(durationMs);
}

/** How long it has been running, by this browser's clock. */
function Running({ since }: { readonly since: string }): VNode {
  const now = useNow(500);
  return <span class="running-time">{formatDuration(Math.max(0, now - Date.parse(since)))}</span>;
}
