import type { VNode } from "preact";
import { useMemo, useState } from "preact/hooks";
import type uPlot from "uplot";
import type { Stats } from "../api/types.js";
import { formatDuration } from "../format.js";
import { axisLabel, bucketLabel } from "./bucket-label.js";
import { axes, Chart, type Palette } from "./chart.js";
import { ChartTable } from "./chart-table.js";

type Bucket = Stats["buckets"][number];

const LINES = [
  { key: "p50Ms", label: "p50", color: "--series-1" },
  { key: "p95Ms", label: "p95", color: "--series-2" },
  { key: "p99Ms", label: "p99", color: "--series-3" },
] as const;

/** How long half, 95 % and 99 % of the calls of each bucket of time took at most. */
export function LatencyChart({ stats }: { readonly stats: Pick<Stats, "buckets" | "bucket"> }): VNode {
  const [hovered, setHovered] = useState<number | null>(null);
  const data = useMemo(() => toData(stats.buckets), [stats]);
  const bucket = (hovered === null ? undefined : stats.buckets[hovered]) ?? lastFilled(stats.buckets);
  return (
    <figure class="figure">
      <Chart
        label="Durations over time: 50th, 95th and 99th percentile"
        height={220}
        data={data}
        kind={stats.bucket}
        options={lineOptions}
        onHover={setHovered}
      />
      <figcaption class="legend">
        <span class="legend-when">{bucket === undefined ? "" : bucketLabel(bucket.at, stats.bucket)}</span>
        {LINES.map(({ key, label }) => (
          <span key={key} class="legend-item">
            <span class={`swatch swatch-${label}`} /> {label} <b>{formatDuration(bucket?.[key])}</b>
          </span>
        ))}
      </figcaption>
      <ChartTable
        caption="Durations over time"
        rows={stats.buckets}
        columns={LINES.map(({ key, label }) => ({ title: label, text: (row: Bucket) => formatDuration(row[key]) }))}
        bucket={stats.bucket}
      />
    </figure>
  );
}

function toData(buckets: readonly Bucket[]): uPlot.AlignedData {
  return [buckets.map(({ at }) => Date.parse(at) / 1_000), ...LINES.map(({ key }) => buckets.map((bucket) => bucket[key]))];
}

function lineOptions(color: Palette): Omit<uPlot.Options, "width" | "height"> {
  return {
    axes: axes(color, axisLabel, formatDuration),
    scales: { y: { range: (_plot, _min, max) => [0, Math.max(10, max * 1.08)] } },
    series: [
      {},
      ...LINES.map((line) => ({
        stroke: color(line.color),
        width: 1.75,
        spanGaps: true,
        points: { show: true, size: 5, fill: color(line.color), stroke: color(line.color) },
      })),
    ],
  };
}

function lastFilled(buckets: readonly Bucket[]): Bucket | undefined {
  return buckets.findLast(({ p50Ms }) => p50Ms !== null);
}
