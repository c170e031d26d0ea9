import type { VNode } from "preact";
import { get } from "../api/client.js";
import type { Page, Skill, SkillHead } from "../api/types.js";
import { useResource } from "../data/use-resource.js";
import { JsonView } from "../parts/json-view.js";
import { PageHeader } from "../parts/page-header.js";
import { ProblemPanel } from "../parts/problem-panel.js";
import { Empty, Loading } from "../parts/states.js";
import { Ago } from "../parts/time.js";
import { href, type Route } from "../route.js";
import { SkillFacts } from "./skill-facts.js";
import { SkillSwitches } from "./skill-switches.js";
import { TryIt } from "./try-it.js";

interface SkillPageProps {
  readonly route: Route;
  readonly name: string;
}

/** One name: its versions, and everything of the chosen one. */
export function SkillPage({ route, name }: SkillPageProps): VNode {
  const { version, owner } = route.query;
  const versions = useResource(`versions ${name} ${owner}`, (signal) =>
    get<Pick<Page<SkillHead>, "items">>(`skills/${encodeURIComponent(name)}`, { owner }, signal),
  );
  const heads = versions.data?.items ?? [];
  const chosen = heads.find((head) => head.version === version && (owner === undefined || head.apiKeyId === owner)) ?? heads[0];
  return (
    <>
      <PageHeader
        title={name}
        back={{ path: ["skills"], label: "Skills" }}
        {...(chosen?.description ? { lead: chosen.description } : {})}
      >
        {chosen !== undefined && (
          <a class="button" href={href(["executions"], { skill: name, version: chosen.version })}>
            Its executions
          </a>
        )}
      </PageHeader>
      {versions.problem !== undefined && <ProblemPanel problem={versions.problem} onRetry={versions.reload} />}
      {versions.data === undefined && versions.problem === undefined && <Loading what="Loading the versions" />}
      {versions.data !== undefined && chosen === undefined && (
        <Empty title="There is no such skill">
          <p>
            It was unregistered, or belongs to another owner. <a href={href(["skills"])}>Show all skills</a>
          </p>
        </Empty>
      )}
      {chosen !== undefined && (
        <div class="skill-layout">
          <Versions heads={heads} chosen={chosen} />
          <Version key={chosen.id} head={chosen} onChange={versions.reload} />
        </div>
      )}
    </>
  );
}

function Versions({ heads, chosen }: { readonly heads: readonly SkillHead[]; readonly chosen: SkillHead }): VNode {
  return (
    <nav class="versions" aria-label="Versions">
      <h2>Versions</h2>
      <ul>
        {heads.map((head) => (
          <li key={head.id}>
            <a
              href={href(["skills", head.name], { version: head.version, owner: head.apiKeyId })}
              aria-current={head.id === chosen.id ? "true" : undefined}
            >
              <b>{head.version}</b>
              <span class={head.enabled ? "state state-on" : "state state-off"}>{head.enabled ? head.mode : "disabled"}</span>
              <span class="faint">
                {head.apiKeyId} · <Ago iso={head.createdAt} />
              </span>
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

function Version({ head, onChange }: { readonly head: SkillHead; onChange(): void }): VNode {
  const { name, version, apiKeyId } = head;
  const skill = useResource(`skill ${head.id} ${head.updatedAt}`, (signal) =>
    get<Skill>(`skills/${encodeURIComponent(name)}/versions/${encodeURIComponent(version)}`, { owner: apiKeyId }, signal),
  );
  return (
    <div class="stack">
      <SkillSwitches head={head} onChange={onChange} />
      {skill.problem !== undefined && <ProblemPanel problem={skill.problem} onRetry={skill.reload} />}
      {skill.data === undefined ? (
        skill.problem === undefined && <Loading what="Loading the schema" />
      ) : (
        <>
          <TryIt skill={skill.data} />
          <section class="panel" aria-labelledby="about">
            <h2 id="about">Version {version}</h2>
            <SkillFacts skill={skill.data} />
            <h3>Input schema</h3>
            <JsonView label="Input schema" value={skill.data.schema} />
            {skill.data.outputSchema !== null && (
              <>
                <h3>Output schema</h3>
                <JsonView label="Output schema" value={skill.data.outputSchema} />
              </>
            )}
          </section>
        </>
      )}
    </div>
  );
}
