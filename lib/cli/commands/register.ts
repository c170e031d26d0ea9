import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { type Fault, isSkillError, SkillError } from "../../errors.js";
import type { Registry } from "../../registry/registry.js";
import type { SkillsKit } from "../../skills.js";
import { type SkillDefinition, SYSTEM_OWNER } from "../../types.js";
import { type AddCommand, type CommandContext, type CommonOptions, examples, type Work } from "../command.js";
import { exitCode, exitCodeOfError } from "../exit-codes.js";
import { readJsonFile } from "../input.js";
import { withKit } from "../kit.js";
import { oneLine } from "../visible-text.js";

interface RegisterOptions extends CommonOptions {
  readonly replace?: boolean;
}

/** What became of one definition. */
interface Registration {
  readonly file: string;
  /** `name@version`, as far as the definition says. */
  readonly skill: string;
  readonly result: "registered" | "unchanged" | "replaced" | "refused";
  readonly error: { readonly code: string; readonly message: string; readonly faults: readonly Fault[] } | null;
}

export const addRegister: AddCommand = (program, toAction) => {
  program
    .command("register <path>")
    .description("Register the definitions of a JSON file, one or a list of them, or of every .json file of a folder.")
    .option("--replace", "overwrite versions that exist with other content")
    .addHelpText("after", examples("register skills/summarize.json", "register skills/", "register skills/ --replace"))
    .action(toAction(register));
};

const register: Work<RegisterOptions> = async (context, options, [path = ""]) => {
  const files = await filesAt(path);
  const registerAll = async ({ registry }: SkillsKit) => {
    const registrations: Registration[] = [];
    let code = exitCode("ok");
    for (const file of files) {
      for (const one of await registerFile(registry, file, options.replace === true)) {
        registrations.push(one.registration);
        code = Math.max(code, one.code);
        if (!options.json) tell(context, one.registration);
      }
    }
    if (options.json) context.terminal.printJson(registrations);
    return code;
  };
  return withKit(context, options, registerAll, { mayMakeDatabase: true });
};

/** @throws INVALID_OPTION there is nothing to register */
async function filesAt(path: string): Promise<readonly string[]> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) throw new SkillError("INVALID_OPTION", `There is no file or folder ${path}.`);
  if (!found.isDirectory()) return [path];
  const names = (await readdir(path)).filter((name) => name.endsWith(".json")).sort();
  if (names.length === 0) throw new SkillError("INVALID_OPTION", `The folder ${path} has no .json files.`);
  return names.map((name) => join(path, name));
}

interface Registered {
  readonly registration: Registration;
  readonly code: number;
}

/** A faulty definition does not stop the others: every fault of all files is told at once. */
async function registerFile(registry: Registry, file: string, replace: boolean): Promise<Registered[]> {
  let content: unknown;
  try {
    content = await readJsonFile(file);
  } catch (error) {
    return [refused(file, "", error)];
  }
  const definitions = Array.isArray(content) ? content : [content];
  const done: Registered[] = [];
  for (const definition of definitions) done.push(await registerOne(registry, file, definition as SkillDefinition, replace));
  return done;
}

async function registerOne(registry: Registry, file: string, definition: SkillDefinition, replace: boolean): Promise<Registered> {
  const skill = skillOf(definition);
  try {
    const before = await existing(registry, definition);
    const { updatedAt } = await registry.register(definition, { replace });
    const result = before === undefined ? "registered" : before === updatedAt ? "unchanged" : "replaced";
    return { registration: { file, skill, result, error: null }, code: exitCode("ok") };
  } catch (error) {
    return refused(file, skill, error);
  }
}

/** When the version was last changed; `undefined` when there is none. */
async function existing(registry: Registry, definition: SkillDefinition | null): Promise<string | undefined> {
  const { name, version = "1.0.0", apiKeyId = SYSTEM_OWNER } = definition ?? {};
  const versions = typeof name === "string" ? await registry.list({ name, apiKeyId }) : [];
  return versions.find((head) => head.version === version)?.updatedAt;
}

/** @throws what says that no further definition can be registered either */
function refused(file: string, skill: string, error: unknown): Registered {
  if (!isSkillError(error) || error.retryable) throw error;
  const { code, message, faults } = error;
  return { registration: { file, skill, result: "refused", error: { code, message, faults } }, code: exitCodeOfError(error) };
}

function tell({ terminal }: CommandContext, { file, skill, result, error }: Registration): void {
  if (error === null) {
    terminal.print(`${skill} is ${result}.`);
    return;
  }
  const where = oneLine(skill === "" ? file : `${file}: ${skill}`);
  const why = error.faults.length === 0 ? oneLine(`: ${error.message}`) : "";
  terminal.note(`${terminal.paint("red", "refused", "stderr")} ${where}${why}`);
  for (const { pointer, message } of error.faults) terminal.note(oneLine(`  ${pointer === "" ? "/" : pointer} ${message}`));
}

function skillOf(definition: Partial<SkillDefinition> | null): string {
  const { name, version = "1.0.0" } = definition ?? {};
  return typeof name === "string" ? oneLine(`${name.slice(0, 100)}@${String(version).slice(0, 100)}`) : "";
}
