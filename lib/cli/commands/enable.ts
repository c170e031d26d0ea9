import semver from "semver";
import { SkillError } from "../../errors.js";
import { isExactVersion, parseReference } from "../../registry/reference.js";
import type { Registry } from "../../registry/registry.js";
import { type SkillHead, SYSTEM_OWNER } from "../../types.js";
import { type AddCommand, type CommonOptions, examples, type Work } from "../command.js";
import { exitCode } from "../exit-codes.js";
import { withKit } from "../kit.js";

interface EnableOptions extends CommonOptions {
  readonly all?: boolean;
  readonly owner?: string;
}

export const addEnable: AddCommand = (program, toAction) => {
  program
    .command("enable [reference]")
    .description("Let versions of a skill run again: name@1.2.3 is one, name@^1 a range, and name every version.")
    .option("--all", "turn on all skills of the database: the master switch")
    .option("--owner <id>", "owner of the skill", SYSTEM_OWNER)
    .addHelpText("after", examples("enable summarizeText@1.0.0", "enable --all"))
    .action(toAction(switchTo(true)));
};

export const addDisable: AddCommand = (program, toAction) => {
  program
    .command("disable [reference]")
    .description("Stop versions of a skill from running: name@1.2.3 is one, name@^1 a range, and name every version.")
    .option("--all", "turn off all skills of the database: the master switch")
    .option("--owner <id>", "owner of the skill", SYSTEM_OWNER)
    .addHelpText("after", examples("disable summarizeText@1.0.0", "disable summarizeText", "disable --all"))
    .action(toAction(switchTo(false)));
};

function switchTo(enabled: boolean): Work<EnableOptions> {
  const word = enabled ? "enabled" : "disabled";
  return async (context, options, [reference]) => {
    const { terminal } = context;
    if ((reference === undefined) !== (options.all === true))
      throw new SkillError("INVALID_OPTION", `Say which skill is to be ${word}, as name@1.2.3, or --all for the master switch.`);
    return withKit(context, options, async ({ registry }) => {
      if (reference === undefined) {
        await registry.setSkillsEnabled(enabled);
        if (options.json) terminal.printJson({ skillsEnabled: enabled });
        else terminal.print(`All skills are switched ${enabled ? "on" : "off"}.`);
        return exitCode("ok");
      }
      const changed = await switchVersions(registry, reference, options.owner ?? SYSTEM_OWNER, enabled);
      if (options.json) terminal.printJson(changed);
      else for (const { name, version } of changed) terminal.print(`${name}@${version} is ${word}.`);
      return exitCode("ok");
    });
  };
}

async function switchVersions(registry: Registry, reference: string, owner: string, enabled: boolean): Promise<SkillHead[]> {
  const { name, range } = parseReference(reference);
  if (reference.endsWith("@latest"))
    throw new SkillError("INVALID_OPTION", "latest changes with what is switched: name the version.");
  const versions = await registry.list({ name, apiKeyId: owner });
  // A bare name means latest to a caller, and all of it to an operator.
  const meant = range === "latest" ? versions : versions.filter(({ version }) => isMeant(version, range));
  if (meant.length === 0) throw missing(reference, owner, versions);
  const changed: SkillHead[] = [];
  for (const { version } of meant) changed.push(await registry.setEnabled(name, version, enabled, owner));
  return changed;
}

function isMeant(version: string, range: string): boolean {
  return isExactVersion(range) ? version === range : semver.satisfies(version, range, { includePrerelease: true });
}

function missing(reference: string, owner: string, versions: readonly SkillHead[]): SkillError {
  const known = versions
    .map(({ version }) => version)
    .slice(0, 10)
    .join(", ");
  const hint = known === "" ? "see `express-skills list`, and name another owner with --owner" : `there are ${known}`;
  return new SkillError("SKILL_NOT_FOUND", `${owner} has no skill ${reference}; ${hint}.`);
}
