import type { ExecutionSandbox, ExecutionStatus, SkillExecution } from "../types.js";
import type { Column } from "./table.js";
import type { Terminal } from "./terminal.js";
import { shortDuration, shortTime } from "./time.js";
import { jsonText, manyLines, oneLine } from "./visible-text.js";

type Execution = SkillExecution<unknown>;
type Paint = Terminal["paint"];

/** Columns of a list; `width` is what each takes where the rows are not known beforehand. */
export function executionColumns(paint: Paint): readonly (Column<Execution> & { readonly width: number })[] {
  return [
    { title: "BEGAN", width: 14, dropOrder: 0, value: ({ createdAt }) => shortTime(createdAt) },
    { title: "STATUS", width: 11, value: ({ status }) => status, paint: (text, { status }) => paint(colourOf(status), text) },
    { title: "SKILL", width: 30, minWidth: 10, value: skillOf },
    { title: "TOOK", width: 7, dropOrder: 1, value: ({ durationMs }) => shortDuration(durationMs) },
    { title: "OWNER", width: 12, minWidth: 6, dropOrder: 3, value: ({ apiKeyId }) => apiKeyId },
    { title: "ID", width: 36, value: ({ id }) => id },
    { title: "ERROR", width: 40, minWidth: 12, dropOrder: 2, value: errorOf },
  ];
}

/** One execution in full, as lines. */
export function executionDetails(execution: Execution, paint: Paint): readonly string[] {
  const { status } = execution;
  const facts: readonly (readonly [string, string | null])[] = [
    ["id", execution.id],
    ["skill", skillOf(execution)],
    ["status", status],
    ["error", execution.errorCode],
    ["owner", execution.apiKeyId],
    ["session", execution.sessionId],
    ["request", execution.requestId],
    ["called by", execution.parentId],
    ["began", execution.createdAt],
    ["ended", execution.finishedAt],
    ["took", execution.durationMs === null ? null : shortDuration(execution.durationMs)],
    ["attempts", String(execution.attempts)],
    ["container", execution.sandbox === undefined ? null : containerText(execution.sandbox)],
  ];
  const lines = facts
    .filter(([, value]) => value !== null)
    .map(([name, value]) => {
      const text = oneLine(value ?? "");
      return `${paint("dim", name.padEnd(10))}${name === "status" ? paint(colourOf(status), text) : text}`;
    });
  const message = execution.errorMessage === null ? [] : ["", ...manyLines(execution.errorMessage).split("\n")];
  return [
    ...lines,
    ...message,
    "",
    paint("dim", "input"),
    jsonText(execution.input, 2),
    paint("dim", "output"),
    jsonText(execution.output, 2),
    ...(execution.log === undefined ? [] : [paint("dim", "standard error"), ...manyLines(execution.log.trimEnd()).split("\n")]),
  ];
}

function containerText({ runtime, image, exitCode, oomKilled, servedFrom }: ExecutionSandbox): string {
  const end = oomKilled ? "ended by the kernel for memory" : exitCode === null ? null : `exit code ${exitCode}`;
  return [`${image} in ${runtime}`, servedFrom, end].filter((text) => text !== null).join(", ");
}

function skillOf({ skillName, skillVersion }: Execution): string {
  return skillVersion === "" ? skillName : `${skillName}@${skillVersion}`;
}

function errorOf({ errorCode, errorMessage }: Execution): string {
  return errorCode === null ? "" : `${errorCode} ${errorMessage ?? ""}`;
}

function colourOf(status: ExecutionStatus) {
  if (status === "SUCCESS") return "green";
  return status === "QUEUED" || status === "RUNNING" ? "cyan" : status === "CANCELLED" || status === "DENIED" ? "yellow" : "red";
}
