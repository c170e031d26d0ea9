import { isPostgresUrl } from "../../store/postgres-url.js";
import { databaseOf } from "../chosen-database.js";
import { type AddCommand, type CommandContext, type CommonOptions, examples, type Work } from "../command.js";
import { checkDatabase } from "../doctor/check-database.js";
import { checkEngine } from "../doctor/check-engine.js";
import { checkNode } from "../doctor/check-node.js";
import { checkSkills, type SkillFindings } from "../doctor/check-skills.js";
import type { Finding } from "../doctor/finding.js";
import { exitCode } from "../exit-codes.js";
import { withKit } from "../kit.js";
import { collect } from "../option-parsers.js";
import type { Terminal } from "../terminal.js";
import { oneLine } from "../visible-text.js";

interface DoctorOptions extends CommonOptions {
  readonly image?: readonly string[];
}

export const addDoctor: AddCommand = (program, toAction) => {
  program
    .command("doctor")
    .description(
      "Look at Node, the database, the container engine and the images of skills, and say what to do about each fault.",
    )
    .option("--image <image>", "also look at this image; may be given again", collect)
    .addHelpText("after", examples("doctor", "doctor --image alpine:3", "doctor --json"))
    .action(toAction(doctor));
};

const doctor: Work<DoctorOptions> = async (context, options) => {
  const { terminal, environment } = context;
  const database = databaseOf(context, options);
  const ofNode = checkNode({ needsSqlite: !isPostgresUrl(database) });
  const { findings: ofDatabase, isCurrent } = await checkDatabase(database);
  const isUsable = [...ofNode, ...ofDatabase].every(({ state }) => state !== "broken");
  const { findings: ofSkills, images } = isUsable && isCurrent ? await lookAtSkills(context, options) : nothing;
  const ofEngine = await checkEngine(environment, [...new Set([...images, ...(options.image ?? [])])]);
  const findings = [...ofNode, ...ofDatabase, ...ofSkills, ...ofEngine];
  const isBroken = findings.some(({ state }) => state === "broken");
  if (options.json) terminal.printJson({ ok: !isBroken, findings });
  else for (const finding of findings) print(terminal, finding);
  return exitCode(isBroken ? "failed" : "ok");
};

const nothing: SkillFindings = Object.freeze({ findings: [], images: [] });

/** Only of a database that is there and of this version: doctor neither makes nor changes one. */
async function lookAtSkills(context: CommandContext, options: DoctorOptions): Promise<SkillFindings> {
  try {
    return await withKit(context, options, checkSkills);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const action = "Let this user read and write it (and the folder of a file), and end what holds it locked.";
    return { findings: [{ subject: "database", state: "broken", message, action }], images: [] };
  }
}

const marks = {
  ok: ["green", "ok"],
  note: ["dim", "note"],
  warning: ["yellow", "warning"],
  broken: ["red", "broken"],
} as const;

function print(terminal: Terminal, { subject, state, message, action }: Finding): void {
  const [colour, mark] = marks[state];
  terminal.print(`${terminal.paint(colour, mark.padEnd(8))} ${subject.padEnd(9)} ${oneLine(message)}`);
  if (action !== null) terminal.print(`${" ".repeat(19)}${terminal.paint("bold", oneLine(action))}`);
}
