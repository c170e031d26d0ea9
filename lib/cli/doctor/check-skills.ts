import type { Registry } from "../../registry/registry.js";
import type { SkillsKit } from "../../skills.js";
import type { Skill } from "../../types.js";
import { type Finding, ok } from "./finding.js";

const MAX_READ = 1_000;
const MAX_NAMED = 5;

export interface SkillFindings {
  readonly findings: readonly Finding[];
  /** Images of container skills that are enabled. */
  readonly images: readonly string[];
}

/** What is registered: reading it proves that the database can be read and written. */
export async function checkSkills({ registry }: SkillsKit): Promise<SkillFindings> {
  const heads = await registry.list();
  const enabled = heads.filter((head) => head.enabled);
  const findings: Finding[] = [ok("skills", `${heads.length} versions, ${enabled.length} of them enabled`)];
  if (!(await registry.getSkillsEnabled())) {
    const message = "all skills are switched off";
    findings.push({ subject: "skills", state: "warning", message, action: "Run `express-skills enable --all`." });
  }
  const images = new Set<string>();
  const damaged: string[] = [];
  for (const { name, version, apiKeyId } of enabled.slice(0, MAX_READ)) {
    const skill = await read(registry, `${name}@${version}`, apiKeyId);
    if (skill === undefined) damaged.push(`${name}@${version}`);
    else if (skill.container !== null) images.add(skill.container.image);
  }
  if (damaged.length > 0) findings.push(damagedSkills(damaged));
  return { findings, images: [...images] };
}

async function read(registry: Registry, reference: string, owner: string): Promise<Skill | undefined> {
  try {
    return await registry.getSkill(reference, owner);
  } catch {
    return undefined;
  }
}

function damagedSkills(names: readonly string[]): Finding {
  const more = names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more` : "";
  const message = `the stored definition cannot be read: ${names.slice(0, MAX_NAMED).join(", ")}${more}`;
  return {
    subject: "skills",
    state: "broken",
    message,
    action: "Register it again with `express-skills register FILE --replace`.",
  };
}
