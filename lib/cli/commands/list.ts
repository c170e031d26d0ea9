import type { SkillHead } from "../../types.js";
import { type AddCommand, type CommonOptions, examples, type Work } from "../command.js";
import { exitCode } from "../exit-codes.js";
import { withKit } from "../kit.js";
import { type Column, renderTable } from "../table.js";

interface ListOptions extends CommonOptions {
  readonly name?: string;
  readonly tag?: string;
  readonly owner?: string;
}

export const addList: AddCommand = (program, toAction) => {
  program
    .command("list")
    .description("List the skills, every version of every owner.")
    .option("--name <name>", "only versions of this name")
    .option("--tag <tag>", "only skills with this tag")
    .option("--owner <id>", "only skills of this owner")
    .addHelpText("after", examples("list", "list --tag text --json"))
    .action(toAction(list));
};

const list: Work<ListOptions> = async (context, options) => {
  const { terminal } = context;
  return withKit(context, options, async ({ registry }) => {
    const skills = await registry.list({ name: options.name, tag: options.tag, apiKeyId: options.owner });
    const isOn = await registry.getSkillsEnabled();
    if (options.json) terminal.printJson(skills);
    else if (skills.length === 0) terminal.note("There are no such skills. Add some with `express-skills register FILE`.");
    else for (const line of renderTable(columns(terminal.paint), skills, terminal.columns)) terminal.print(line);
    if (!isOn) terminal.note("All skills are switched off; turn them on with `express-skills enable --all`.");
    return exitCode("ok");
  });
};

function columns(paint: (colour: "green" | "yellow" | "dim", text: string) => string): readonly Column<SkillHead>[] {
  return [
    { title: "SKILL", value: ({ name, version }) => `${name}@${version}`, minWidth: 16 },
    {
      title: "STATE",
      value: stateOf,
      paint: (text, skill) => paint(stateOf(skill) === "on" ? "green" : "yellow", text),
    },
    { title: "OWNER", value: ({ apiKeyId }) => apiKeyId, minWidth: 8, dropOrder: 1 },
    { title: "TAGS", value: ({ tags }) => tags.join(","), minWidth: 6, dropOrder: 3 },
    {
      title: "DESCRIPTION",
      value: ({ description }) => description,
      minWidth: 12,
      dropOrder: 2,
      paint: (text) => paint("dim", text),
    },
  ];
}

function stateOf({ enabled, mode }: SkillHead): string {
  return enabled ? mode : "disabled";
}
