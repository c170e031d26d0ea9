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
  const { container } = skill as Skill & { readonly container?: { readonly image?: string; readonly warm?: number } | null };
  return [
    ["Owner", skill.apiKeyId],
    container?.image === undefined
      ? ["Handler", <code key="h">{skill.handler}</code>]
      : ["Image", <code key="i">{container.image}</code>],
    ...(container?.warm === undefined ? [] : [["Started ahead", `${container.warm}`] as const]),
    ["Tags", <Tags key="t" tags={skill.tags} />],
    ...(skill.sourceProvider === null ? [] : [["From", skill.sourceProvider] as const]),
    ["Registered", <Ago key="r" iso={skill.createdAt} />],
    ["Changed", <Ago key="c" iso={skill.updatedAt} />],
    ["Content", <code key="x">{skill.contentHash.slice(0, 12)}</code>],
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
