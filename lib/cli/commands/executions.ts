import { SkillError } from "../../errors.js";
import type { ListExecutionsFilter } from "../../executor/history.js";
import type { SkillsKit } from "../../skills.js";
import { EXECUTION_STATUSES, type ExecutionStatus } from "../../types.js";
import { type AddCommand, type CommandContext, type CommonOptions, examples, type Work } from "../command.js";
import { executionColumns, executionDetails } from "../execution-text.js";
import { exitCode } from "../exit-codes.js";
import { followExecutions } from "../follow.js";
import { withKit } from "../kit.js";
import { collect, integerBetween } from "../option-parsers.js";
import { renderTable, streamTable } from "../table.js";
import { parseTime } from "../time.js";

interface ExecutionsOptions extends CommonOptions {
  readonly skill?: string;
  readonly status?: readonly string[];
  readonly owner?: string;
  readonly session?: string;
  readonly since?: string;
  readonly before?: string;
  readonly limit?: number;
  readonly follow?: boolean;
}

export const addExecutions: AddCommand = (program, toAction) => {
  program
    .command("executions [id]")
    .description("List executions, newest first, or print one with its input and output. Times are UTC.")
    .option("--skill <name>", "only of this skill, or of one version of it: name@1.2.3")
    .option("--status <status>", "only with this status; may be given again", collect)
    .option("--owner <id>", "only of this caller")
    .option("--session <id>", "only of this session")
    .option("--since <time>", "only what began at or after: 2026-01-31, 2026-01-31T12:00Z, 90m or 7d ago")
    .option("--before <time>", "only what began before")
    .option("--limit <n>", "at most this many, up to 1000", integerBetween(1, 1_000), 20)
    .option("--follow", "go on with what begins and ends, oldest first, until Ctrl-C; with --json one line each")
    .addHelpText(
      "after",
      examples(
        "executions --status ERROR --status TIMEOUT --since 24h",
        "executions --follow --skill summarizeText",
        "executions ID --json",
      ),
    )
    .action(toAction(executions));
};

const executions: Work<ExecutionsOptions> = async (context, options, [id]) => {
  const filter = filterOf(options);
  if (id !== undefined && options.follow === true)
    throw new SkillError("INVALID_OPTION", "--follow is for the list: leave the id out.");
  return withKit(context, options, async (kit) => {
    if (id !== undefined) await printOne(context, kit, id, options.json === true);
    else if (options.follow === true) await follow(context, kit, filter, options.json === true);
    else await printList(context, kit, filter, options.json === true);
    return exitCode("ok");
  });
};

function filterOf({ skill, status, owner, session, since, before, limit }: ExecutionsOptions): ListExecutionsFilter {
  const at = skill?.lastIndexOf("@") ?? -1;
  return {
    skillName: at > 0 ? skill?.slice(0, at) : skill,
    skillVersion: at > 0 ? skill?.slice(at + 1) : undefined,
    status: status?.map(checkedStatus),
    apiKeyId: owner,
    sessionId: session,
    createdAfter: since === undefined ? undefined : parseTime("--since", since),
    createdBefore: before === undefined ? undefined : parseTime("--before", before),
    limit,
  };
}

function checkedStatus(text: string): ExecutionStatus {
  const status = EXECUTION_STATUSES.find((known) => known === text.toUpperCase());
  if (status !== undefined) return status;
  throw new SkillError(
    "INVALID_OPTION",
    `--status must be one of ${EXECUTION_STATUSES.join(", ")}, got ${JSON.stringify(text)}.`,
  );
}

async function printOne({ terminal }: CommandContext, { executor }: SkillsKit, id: string, isJson: boolean): Promise<void> {
  const execution = await executor.getExecution(id);
  if (execution === undefined)
    throw new SkillError(
      "EXECUTION_NOT_FOUND",
      `There is no execution ${JSON.stringify(id)}; see \`express-skills executions\`.`,
    );
  if (isJson) terminal.printJson(execution);
  else for (const line of executionDetails(execution, terminal.paint)) terminal.print(line);
}

async function printList(
  { terminal }: CommandContext,
  { executor }: SkillsKit,
  filter: ListExecutionsFilter,
  isJson: boolean,
): Promise<void> {
  const found = await executor.listExecutions(filter);
  if (isJson) return terminal.printJson(found);
  if (found.length === 0) return terminal.note("There are no such executions.");
  for (const line of renderTable(executionColumns(terminal.paint), found, terminal.columns)) terminal.print(line);
}

async function follow(
  { terminal, signal }: CommandContext,
  { executor }: SkillsKit,
  filter: ListExecutionsFilter,
  isJson: boolean,
): Promise<void> {
  const table = streamTable(executionColumns(terminal.paint), terminal.columns);
  if (!isJson) terminal.print(table.title());
  const until = AbortSignal.any([signal, terminal.closed]);
  await followExecutions(executor, filter, until, (execution) => {
    if (isJson) terminal.printJsonLine(execution);
    else terminal.print(table.line(execution));
  });
}
