import type { VNode } from "preact";
import { get } from "../api/client.js";
import type { Execution, Page, Stats } from "../api/types.js";
import { ExecutionsChart } from "../chart/executions-chart.js";
import { LatencyChart } from "../chart/latency-chart.js";
import { useMay } from "../data/session.js";
import { useResource } from "../data/use-resource.js";
import { formatCount, formatShare } from "../format.js";
import { PageHeader } from "../parts/page-header.js";
import { ProblemPanel } from "../parts/problem-panel.js";
import { Empty, Loading } from "../parts/states.js";
import { href, type Route } from "../route.js";
import { ExecutionTable } from "./execution-table.js";
import { FailingSkills, SlowSkills } from "./skill-rankings.js";
import { SystemPanel } from "./system-panel.js";

const HOUR_MS = 3_600_000;
const RANGES = [
  { id: "1h", label: "1 hour", ms: HOUR_MS, bucket: "minute" },
  { id: "24h", label: "24 hours", ms: 24 * HOUR_MS, bucket: "hour" },
  { id: "7d", label: "7 days", ms: 7 * 24 * HOUR_MS, bucket: "hour" },
  { id: "30d", label: "30 days", ms: 30 * 24 * HOUR_MS, bucket: "day" },
] as const;

export function OverviewPage({ route }: { readonly route: Route }): VNode {
  return useMay("operator") ? <Statistics route={route} /> : <OwnExecutions />;
}

/** What all owners did is not for callers. */
function OwnExecutions(): VNode {
  const executions = useResource("own", (signal) => get<Page<Execution>>("executions", { limit: 10 }, signal), 5_000);
  return (
    <>
      <PageHeader title="Overview" />
      {executions.problem !== undefined && <ProblemPanel problem={executions.problem} onRetry={executions.reload} />}
      {executions.data === undefined ? (
        executions.problem === undefined && <Loading what="Loading your executions" />
      ) : executions.data.items.length === 0 ? (
        <Empty title="Nothing of yours has run yet">
          <p>
            Open a <a href={href(["skills"])}>skill</a> and run it.
          </p>
        </Empty>
      ) : (
        <section class="panel latest" aria-labelledby="latest">
          <h2 id="latest">Your latest executions</h2>
          <ExecutionTable executions={executions.data.items} />
        </section>
      )}
      <SystemPanel />
    </>
  );
}

function Statistics({ route }: { readonly route: Route }): VNode {
  const range = RANGES.find(({ id }) => id === route.query["range"]) ?? RANGES[0];
  const stats = useResource(
    `stats ${range.id}`,
    (signal) => get<Stats>("stats", { from: new Date(Date.now() - range.ms).toISOString(), bucket: range.bucket }, signal),
    10_000,
  );
  return (
    <>
      <PageHeader title="Overview">
        <nav class="segments" aria-label="Time shown">
          {RANGES.map(({ id, label }) => (
            <a key={id} href={href(["overview"], { range: id })} aria-current={id === range.id ? "true" : undefined}>
              {label}
            </a>
          ))}
        </nav>
      </PageHeader>
      {stats.problem !== undefined && <ProblemPanel problem={stats.problem} onRetry={stats.reload} />}
      {stats.data === undefined ? (
        stats.problem === undefined && <Loading what="Counting" />
      ) : (
        <Figures stats={stats.data} range={range.label} />
      )}
      <SystemPanel />
    </>
  );
}

function Figures({ stats, range }: { readonly stats: Stats; readonly range: string }): VNode {
  if (stats.count === 0)
    return (
      <Empty title={`Nothing ran in the last ${range}`}>
        <p>
          Choose a longer time, or open a <a href={href(["skills"])}>skill</a> and run it.
        </p>
      </Empty>
    );
  return (
    <>
      <KeyFigures stats={stats} range={range} />
      {stats.isCut && <p class="hint">Only the newest {formatCount(stats.count)} executions of this time are counted here.</p>}
      <div class="columns">
        <section class="panel" aria-labelledby="over-time">
          <h2 id="over-time">Executions</h2>
          <ExecutionsChart stats={stats} />
        </section>
        <section class="panel" aria-labelledby="latency">
          <h2 id="latency">Durations</h2>
          <LatencyChart stats={stats} />
        </section>
      </div>
      <div class="columns">
        <FailingSkills skills={stats.skills} />
        <SlowSkills skills={stats.skills} />
      </div>
    </>
  );
}

function KeyFigures({ stats, range }: { readonly stats: Stats; readonly range: string }): VNode {
  const { byStatus, count, perMinute } = stats;
  const failed = (byStatus.ERROR ?? 0) + (byStatus.TIMEOUT ?? 0) + (byStatus.INTERRUPTED ?? 0);
  const ended = failed + (byStatus.SUCCESS ?? 0);
  const running = (byStatus.RUNNING ?? 0) + (byStatus.QUEUED ?? 0);
  return (
    <dl class="figures" aria-label={`The last ${range}`}>
      <Figure title="Executions" value={formatCount(count)} note={`${perMinute.toLocaleString()} a minute`} />
      <Figure title="Succeeded" value={formatShare(byStatus.SUCCESS ?? 0, ended)} note="of those that ran to an end" />
      <Figure
        title="Failed"
        value={formatCount(failed)}
        note={`${formatCount(byStatus.DENIED ?? 0)} more were refused`}
        isBad={failed > 0}
      />
      <Figure title="Unfinished" value={formatCount(running)} note="running or waiting" />
    </dl>
  );
}

interface FigureProps {
  readonly title: string;
  readonly value: string;
  readonly note: string;
  readonly isBad?: boolean;
}

function Figure({ title, value, note, isBad = false }: FigureProps): VNode {
  return (
    <div class="figure-card">
      <dt>{title}</dt>
      <dd class={isBad ? "figure-value bad" : "figure-value"}>{value}</dd>
      <dd class="figure-note">{note}</dd>
    </div>
  );
}
