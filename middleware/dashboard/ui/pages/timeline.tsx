import type { VNode } from "preact";
import type { Execution } from "../api/types.js";
import { useNow } from "../data/use-resource.js";
import { formatDuration } from "../format.js";
import { Icon } from "../parts/icon.js";
import { STATUSES } from "../parts/status.js";
import { href } from "../route.js";

export type CallTree = Execution & { readonly children: readonly CallTree[] };

interface TimelineRow {
  readonly execution: Execution;
  readonly depth: number;
  readonly startMs: number;
  readonly endMs: number;
}

/** An execution and the calls made in it, each as a bar from its beginning to its end. */
export function Timeline({ root, isCut }: { readonly root: CallTree; readonly isCut: boolean }): VNode {
  const now = useNow(500);
  const rows = rowsOf(root, now, 0);
  const from = Math.min(...rows.map(({ startMs }) => startMs));
  const length = Math.max(1, ...rows.map(({ endMs }) => endMs - from));
  return (
    <>
      <ol class="timeline">
        {rows.map((row) => (
          <Bar key={row.execution.id} row={row} from={from} length={length} isSelf={row.depth === 0} />
        ))}
      </ol>
      <div class="timeline-scale" aria-hidden="true">
        <span>0</span>
        <span>{formatDuration(length / 2)}</span>
        <span>{formatDuration(length)}</span>
      </div>
      {isCut && <p class="hint">The tree has more calls than are shown.</p>}
    </>
  );
}

interface BarProps {
  readonly row: TimelineRow;
  readonly from: number;
  readonly length: number;
  readonly isSelf: boolean;
}

function Bar({ row: { execution, depth, startMs, endMs }, from, length, isSelf }: BarProps): VNode {
  const { id, skillName, skillVersion, status, attempts } = execution;
  const { label, icon } = STATUSES[status];
  const name = `${skillName}@${skillVersion}`;
  return (
    <li class="timeline-row">
      <span class="timeline-name" style={{ "--depth": String(Math.min(depth, 8)) }}>
        <span class={`timeline-status status-${status.toLowerCase()}`} role="img" aria-label={label}>
          <Icon name={icon} />
        </span>
        {isSelf ? <b>{name}</b> : <a href={href(["executions", id])}>{name}</a>}
        {attempts > 1 && <span class="attempts">{attempts} attempts</span>}
      </span>
      <span class="timeline-track">
        <span
          class={`timeline-bar swatch-${status.toLowerCase()}`}
          style={{ "--start": `${((startMs - from) / length) * 100}%`, "--width": `${((endMs - startMs) / length) * 100}%` }}
        />
      </span>
      <span class="timeline-time">{formatDuration(endMs - startMs)}</span>
    </li>
  );
}

function rowsOf(node: CallTree, now: number, depth: number): TimelineRow[] {
  const { children, ...execution } = node;
  const startMs = Date.parse(execution.createdAt);
  const endMs = execution.finishedAt === null ? Math.max(now, startMs) : Date.parse(execution.finishedAt);
  return [{ execution, depth, startMs, endMs }, ...children.flatMap((child) => rowsOf(child, now, depth + 1))];
}
