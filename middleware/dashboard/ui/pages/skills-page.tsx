import type { VNode } from "preact";
import { get } from "../api/client.js";
import type { Page, SkillHead } from "../api/types.js";
import { useMay } from "../data/session.js";
import { usePages } from "../data/use-pages.js";
import { SelectField, TextField } from "../parts/fields.js";
import { FilterBar } from "../parts/filter-bar.js";
import { PageHeader } from "../parts/page-header.js";
import { ProblemPanel } from "../parts/problem-panel.js";
import { Empty, Loading } from "../parts/states.js";
import { Table, type TableColumn } from "../parts/table.js";
import { Ago } from "../parts/time.js";
import { href, type Route, replaceQuery } from "../route.js";

const MODES = [
  ["", "Any mode"],
  ["on", "On"],
  ["auto", "Auto"],
  ["off", "Off"],
] as const;
const STATES = [
  ["", "Any state"],
  ["true", "Enabled"],
  ["false", "Disabled"],
] as const;

export function SkillsPage({ route }: { readonly route: Route }): VNode {
  const may = useMay("operator");
  const { name, tag, mode, enabled, owner } = route.query;
  const query = { name, tag, mode, enabled, owner };
  const skills = usePages(JSON.stringify(query), (cursor, signal) =>
    get<Page<SkillHead>>("skills", { ...query, cursor, limit: 100 }, signal),
  );
  const set = (change: Readonly<Record<string, string>>) => replaceQuery(route, { ...route.query, ...change });
  const isFiltered = Object.values(query).some((value) => value !== undefined && value !== "");
  return (
    <>
      <PageHeader title="Skills" />
      <FilterBar label="Filter the skills" isFiltered={isFiltered} onClear={() => replaceQuery(route, {})}>
        <TextField label="Name" value={name ?? ""} placeholder="exact name" onChange={(value) => set({ name: value })} />
        <TextField label="Tag" value={tag ?? ""} onChange={(value) => set({ tag: value })} />
        <SelectField label="Mode" value={mode ?? ""} choices={MODES} onChange={(value) => set({ mode: value })} />
        <SelectField label="State" value={enabled ?? ""} choices={STATES} onChange={(value) => set({ enabled: value })} />
        {may && <TextField label="Owner" value={owner ?? ""} onChange={(value) => set({ owner: value })} />}
      </FilterBar>
      {skills.problem !== undefined && <ProblemPanel problem={skills.problem} onRetry={skills.reload} />}
      {skills.items === undefined ? (
        skills.problem === undefined && <Loading what="Loading the skills" />
      ) : skills.items.length === 0 ? (
        <NoSkills isFiltered={isFiltered} />
      ) : (
        <section class="panel panel-flush" aria-label="Skills">
          <Table caption="Skills" columns={COLUMNS} rows={skills.items} keyOf={({ id }) => id} rowClass={rowClass} />
        </section>
      )}
      {skills.hasMore && (
        <button type="button" class="more" disabled={skills.isLoading} onClick={skills.loadMore}>
          Show more
        </button>
      )}
    </>
  );
}

function NoSkills({ isFiltered }: { readonly isFiltered: boolean }): VNode {
  if (isFiltered)
    return (
      <Empty title="No skill fits">
        <p>Names, tags and owners must match exactly. Clear the filter to see all skills.</p>
      </Empty>
    );
  return (
    <Empty title="There are no skills yet">
      <p>
        Define one in the application with <code>kit.define({"{ name, schema, handler }"})</code>, or register a definition with{" "}
        <code>npx express-skills register FILE</code>.
      </p>
    </Empty>
  );
}

const COLUMNS: readonly TableColumn<SkillHead>[] = [
  {
    title: "Skill",
    isMain: true,
    cell: ({ name, version, apiKeyId, description }) => (
      <>
        <a href={href(["skills", name], { version, owner: apiKeyId })}>
          {name}
          <span class="version">{version}</span>
        </a>
        {description !== "" && <span class="description">{description}</span>}
      </>
    ),
  },
  { title: "Owner", cell: ({ apiKeyId }) => apiKeyId },
  { title: "Mode", cell: ({ mode }) => <span class={`mode mode-${mode}`}>{mode}</span> },
  {
    title: "State",
    cell: ({ enabled }) => <span class={enabled ? "state state-on" : "state state-off"}>{enabled ? "Enabled" : "Disabled"}</span>,
  },
  { title: "Tags", cell: ({ tags }) => <Tags tags={tags} /> },
  { title: "Changed", cell: ({ updatedAt }) => <Ago iso={updatedAt} /> },
];

function rowClass({ enabled, mode }: SkillHead): string | undefined {
  return enabled && mode !== "off" ? undefined : "dimmed";
}

export function Tags({ tags }: { readonly tags: readonly string[] }): VNode {
  if (tags.length === 0) return <span class="faint">–</span>;
  return (
    <span class="tags">
      {tags.map((tag) => (
        <a key={tag} class="tag" href={href(["skills"], { tag })}>
          {tag}
        </a>
      ))}
    </span>
  );
}
