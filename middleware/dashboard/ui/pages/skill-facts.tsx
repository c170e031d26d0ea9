import type { VNode } from "preact";
import type { Skill } from "../api/types.js";
import { formatDuration } from "../format.js";
import { type FactRow, Facts } from "../parts/facts.js";
import { Ago } from "../parts/time.js";
import { Tags } from "./skills-page.js";

export function SkillFacts({ skill }: { readonly skill: Skill }): VNode {
  return <Facts rows={[...originOf(skill), ...policyOf(skill)]} />;
}

function originOf(skill: Skill): FactRow[] {
  return [
    ["Owner", skill.apiKeyId],
    ...workOf(skill),
    ["Tags", <Tags key="t" tags={skill.tags} />],
    ...(skill.sourceProvider === null ? [] : [["From", skill.sourceProvider] as const]),
    ["Registered", <Ago key="r" iso={skill.createdAt} />],
    ["Changed", <Ago key="c" iso={skill.updatedAt} />],
    ["Content", <code key="x">{skill.contentHash.slice(0, 12)}</code>],
  ];
}

/** Callers do not see the container of another owner's skill. */
function workOf({ handler, container }: Skill): FactRow[] {
  if (handler !== null) return [["Handler", <code key="h">{handler}</code>]];
  if (container === null) return [["Runs in", "a container"]];
  return [
    ["Image", <code key="i">{container.image}</code>],
    ["Command", <code key="c">{container.command.join(" ")}</code>],
    ...(container.warm === undefined ? [] : [["Started ahead", `${container.warm}`] as const]),
  ];
}

function policyOf({ timeoutMs, retry, concurrency, breaker, idempotent }: Skill): FactRow[] {
  return [
    ["Time limit", timeoutMs === undefined ? "the server's default" : formatDuration(timeoutMs)],
    ["Retries", retry === undefined ? "none" : `${retry.limit}, first after ${formatDuration(retry.backoffMs ?? 100)}`],
    ["At once", concurrency === undefined ? "no limit" : `${concurrency.limit}, ${concurrency.queue ?? 0} may wait`],
    ...(breaker === undefined ? [] : [["Paused after", `${breaker.failures} failures in a row`] as const]),
    ...(idempotent === true ? [["Idempotent", "yes"] as const] : []),
  ];
}
