import type { VNode } from "preact";
import { useMemo, useState } from "preact/hooks";
import uPlot from "uplot";
import type { ExecutionStatus, Stats } from "../api/types.js";
import { formatCount } from "../format.js";
import { STATUS_ORDER, STATUSES } from "../parts/status.js";
import { axisLabel, bucketLabel } from "./bucket-label.js";
import { axes, Chart, type Palette } from "./chart.js";
import { ChartTable, type Column } from "./chart-table.js";

type StatsView = Pick<Stats, "buckets" | "byStatus" | "bucket">;

/** How many executions began in each bucket of time, stacked by status. */
export function ExecutionsChart({ stats }: { readonly stats: StatsView }): VNode {
  const [hovered, setHovered] = useState<number | null>(null);
  const shown = STATUS_ORDER.filter((status) => (stats.byStatus[status] ?? 0) > 0);
  const data = useMemo(() => stack(stats, shown), [stats]);
  const bucket = hovered === null ? undefined : stats.buckets[hovered];
  const counts = bucket?.counts ?? stats.byStatus;
  return (
    <figure class="figure">
      <Chart
        label={`Executions over time by status: ${shown.map((status) => `${stats.byStatus[status]} ${STATUSES[status].label}`).join(", ")}`}
        height={220}
        data={data}
        kind={`${shown.join()} ${stats.bucket}`}
        options={(color) => barOptions(color, shown)}
        onHover={setHovered}
      />
      <figcaption class="legend">
        <span class="legend-when">{bucket === undefined ? "In all" : bucketLabel(bucket.at, stats.bucket)}</span>
        {shown.map((status) => (
          <span key={status} class="legend-item">
            <span class={`swatch swatch-${status.toLowerCase()}`} /> {STATUSES[status].label}{" "}
            <b>{formatCount(counts[status] ?? 0)}</b>
          </span>
        ))}
      </figcaption>
      <ChartTable
        caption="Executions over time by status"
        rows={stats.buckets}
        columns={columnsOf(shown)}
        bucket={stats.bucket}
      />
    </figure>
  );
}

/** Times in seconds, then for each status the sum of itself and those that it stands on, the tallest first: each covers the one before. */
function stack({ buckets }: StatsView, shown: readonly ExecutionStatus[]): uPlot.AlignedData {
  const times = buckets.map(({ at }) => Date.parse(at) / 1_000);
  const layers = shown.map((_status, index) =>
    buckets.map(({ counts }) => shown.slice(0, index + 1).reduce((sum, status) => sum + (counts[status] ?? 0), 0)),
  );
  return [times, ...layers.reverse()];
}

function barOptions(color: Palette, shown: readonly ExecutionStatus[]): Omit<uPlot.Options, "width" | "height"> {
  const paths = uPlot.paths.bars?.({ size: [0.8, 28], align: 1, radius: 0.1 });
  return {
    axes: axes(color, axisLabel, (value) => (Number.isInteger(value) ? formatCount(value) : "")),
    scales: { y: { range: (_plot, _min, max) => [0, Math.max(4, max * 1.08)] } },
    series: [
      {},
      ...shown.toReversed().map((status) => {
        const fill = color(STATUSES[status].color);
        return { fill, stroke: fill, width: 0, points: { show: false }, ...(paths === undefined ? {} : { paths }) };
      }),
    ],
  };
}

function columnsOf(shown: readonly ExecutionStatus[]): Column<Stats["buckets"][number]>[] {
  return shown.map((status) => ({ title: STATUSES[status].label, text: ({ counts }) => formatCount(counts[status] ?? 0) }));
}
