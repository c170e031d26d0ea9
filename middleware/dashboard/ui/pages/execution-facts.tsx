import type { VNode } from "preact";
import type { Execution, ExecutionSandbox } from "../api/types.js";
import { formatDuration, formatTime, shortId } from "../format.js";
import { type FactRow, Facts } from "../parts/facts.js";
import { CopyButton } from "../parts/json-view.js";
import { href } from "../route.js";

export function ExecutionFacts({ execution }: { readonly execution: Execution }): VNode {
  const { sandbox } = execution;
  return (
    <aside class="panel facts-panel" aria-label="Facts">
      <h2>Facts</h2>
      <Facts rows={rowsOf(execution)} />
      {sandbox !== undefined && (
        <>
          <h3>Container</h3>
          <Facts rows={sandboxRows(sandbox)} />
        </>
      )}
    </aside>
  );
}

function rowsOf(execution: Execution): FactRow[] {
  const { id, skillName, skillVersion, apiKeyId, sessionId, requestId, parentId, rootId } = execution;
  return [
    [
      "Id",
      <span key="id" class="copyable">
        <code title={id}>{shortId(id)}</code>
        <CopyButton what="Id" text={id} />
      </span>,
    ],
    [
      "Skill",
      <a key="skill" href={href(["skills", skillName], { version: skillVersion })}>
        {skillName}@{skillVersion}
      </a>,
    ],
    ["Owner", apiKeyId],
    [
      "Session",
      sessionId === null ? (
        "–"
      ) : (
        <a key="session" href={href(["executions"], { session: sessionId })}>
          {sessionId}
        </a>
      ),
    ],
    ["Request", requestId ?? "–"],
    ["Began", formatTime(execution.createdAt)],
    ["Ended", execution.finishedAt === null ? "–" : formatTime(execution.finishedAt)],
    ["Duration", formatDuration(execution.durationMs)],
    ["Attempts", String(execution.attempts)],
    ...(parentId === null ? [] : [["Called by", <ExecutionLink key="parent" id={parentId} />] as const]),
    ...(parentId === null || rootId === parentId
      ? []
      : [["First of the tree", <ExecutionLink key="root" id={rootId} />] as const]),
  ];
}

function ExecutionLink({ id }: { readonly id: string }): VNode {
  return (
    <a href={href(["executions", id])} title={id}>
      {shortId(id)}
    </a>
  );
}

function sandboxRows({ runtime, image, exitCode, oomKilled, servedFrom, startupMs }: ExecutionSandbox): FactRow[] {
  return [
    ["Engine", runtime],
    ["Image", <code key="image">{image}</code>],
    ["Exit code", exitCode === null ? "–" : String(exitCode)],
    ["Out of memory", oomKilled ? "yes: it was killed" : "no"],
    ["Served from", servedFrom === "warm" ? "a slot started ahead" : "a cold start"],
    ["Startup", formatDuration(startupMs)],
  ];
}
