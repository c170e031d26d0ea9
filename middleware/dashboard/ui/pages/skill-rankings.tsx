import type { VNode } from "preact";
import type { SkillStats } from "../api/types.js";
import { formatCount, formatDuration, formatShare } from "../format.js";
import { Empty } from "../parts/states.js";
import { Table } from "../parts/table.js";
import { href } from "../route.js";

const SHOWN = 6;

interface RankingProps {
  readonly skills: readonly SkillStats[];
}

export function FailingSkills({ skills }: RankingProps): VNode {
  const failing = skills.filter(({ failed }) => failed > 0).toSorted((a, b) => b.failed - a.failed);
  return (
    <section class="panel" aria-labelledby="failing">
      <h2 id="failing">Failing most</h2>
      {failing.length === 0 ? (
        <Empty title="No skill failed" />
      ) : (
        <Table
          caption="Skills that failed most often"
          rows={failing.slice(0, SHOWN)}
          keyOf={keyOf}
          columns={[
            { title: "Skill", isMain: true, cell: SkillLink },
            {
              title: "Failed",
              isNumber: true,
              cell: ({ name, version, failed }) => (
                <a href={href(["executions"], { skill: name, version, status: "FAILED" })}>{formatCount(failed)}</a>
              ),
            },
            { title: "Share", isNumber: true, cell: ({ failed, count }) => <Share part={failed} whole={count} /> },
          ]}
        />
      )}
    </section>
  );
}

export function SlowSkills({ skills }: RankingProps): VNode {
  const slow = skills.filter(({ p95Ms }) => p95Ms !== null).toSorted((a, b) => (b.p95Ms ?? 0) - (a.p95Ms ?? 0));
  return (
    <section class="panel" aria-labelledby="slow">
      <h2 id="slow">Slowest</h2>
      {slow.length === 0 ? (
        <Empty title="No skill ran to its end" />
      ) : (
        <Table
          caption="Skills that took longest, by their 95th percentile"
          rows={slow.slice(0, SHOWN)}
          keyOf={keyOf}
          columns={[
            { title: "Skill", isMain: true, cell: SkillLink },
            { title: "Calls", isNumber: true, cell: ({ count }) => formatCount(count) },
            { title: "p50", isNumber: true, cell: ({ p50Ms }) => formatDuration(p50Ms) },
            { title: "p95", isNumber: true, cell: ({ p95Ms }) => formatDuration(p95Ms) },
            { title: "p99", isNumber: true, cell: ({ p99Ms }) => formatDuration(p99Ms) },
          ]}
        />
      )}
    </section>
  );
}

function SkillLink({ name, version }: SkillStats): VNode {
  return (
    <a href={href(["skills", name], { version })}>
      {name}
      <span class="version">{version}</span>
    </a>
  );
}

function Share({ part, whole }: { readonly part: number; readonly whole: number }): VNode {
  return (
    <span class="share">
      <meter min={0} max={whole} value={part} aria-hidden="true" />
      {formatShare(part, whole)}
    </span>
  );
}

function keyOf({ name, version }: SkillStats): string {
  return `${name}@${version}`;
}
