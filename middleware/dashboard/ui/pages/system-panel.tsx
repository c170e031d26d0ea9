import type { VNode } from "preact";
import { get, open } from "../api/client.js";
import { toProblem } from "../api/problem.js";
import type { Engines } from "../api/types.js";
import { useMay } from "../data/session.js";
import { useResource } from "../data/use-resource.js";
import { formatCount } from "../format.js";
import { Icon, type IconName } from "../parts/icon.js";
import { href } from "../route.js";
import { describeEngines, type EngineFact } from "./engine-facts.js";

/** Whether the parts that every skill needs are well. */
export function SystemPanel(): VNode {
  const may = useMay("operator");
  const ready = useResource("ready", readReadiness, 15_000);
  const settings = useResource(
    `switch ${may}`,
    async (signal) => (may ? get<{ skillsEnabled: boolean }>("settings", {}, signal) : null),
    15_000,
  );
  const engines = useResource(`engines ${may}`, async (signal) => (may ? get<Engines>("engines", {}, signal) : null), 15_000);
  const facts = may ? describeEngines(engines.data, engines.problem) : [];
  return (
    <section class="panel" aria-labelledby="system">
      <h2 id="system">System</h2>
      <ul class="system">
        <Fact {...databaseFact(ready.data)} />
        {may && <Fact {...switchFact(settings.data?.skillsEnabled)} />}
        {facts.map((fact) => (
          <Fact key={fact.title} {...fact} />
        ))}
      </ul>
    </section>
  );
}

async function readReadiness(signal: AbortSignal): Promise<string | true> {
  try {
    await open("api/ready", { signal });
    return true;
  } catch (error) {
    if (signal.aborted) throw error;
    return toProblem(error).message;
  }
}

function databaseFact(ready: string | true | undefined): EngineFact {
  if (ready === undefined) return { title: "Database", state: "unknown", text: "Asking…" };
  if (ready === true) return { title: "Database", state: "good", text: "Ready" };
  return { title: "Database", state: "bad", text: ready };
}

function switchFact(isOn: boolean | undefined): EngineFact {
  if (isOn === undefined) return { title: "Master switch", state: "unknown", text: "Not known" };
  if (isOn) return { title: "Master switch", state: "good", text: "Skills are on", link: href(["settings"]) };
  return { title: "Master switch", state: "bad", text: "Skills are off: every call is refused", link: href(["settings"]) };
}

const ICONS: Readonly<Record<EngineFact["state"], IconName>> = {
  good: "check",
  bad: "cross",
  unknown: "dots",
  warning: "warning",
};

function Fact({ title, state, text, link, numbers }: EngineFact): VNode {
  return (
    <li class={`system-fact system-${state}`}>
      <Icon name={ICONS[state]} />
      <div>
        <p class="system-title">{link === undefined ? title : <a href={link}>{title}</a>}</p>
        <p>{text}</p>
        {numbers !== undefined && (
          <dl class="numbers">
            {numbers.map(([name, value]) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{formatCount(value)}</dd>
              </div>
            ))}
          </dl>
        )}
      </div>
    </li>
  );
}
