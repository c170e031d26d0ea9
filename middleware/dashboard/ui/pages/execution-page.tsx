import type { VNode } from "preact";
import { useEffect } from "preact/hooks";
import { get } from "../api/client.js";
import type { Execution, LogLine } from "../api/types.js";
import { useMay } from "../data/session.js";
import { useLiveExecution } from "../data/use-live-execution.js";
import { useResource } from "../data/use-resource.js";
import { PageHeader } from "../parts/page-header.js";
import { ProblemPanel } from "../parts/problem-panel.js";
import { Empty, Loading } from "../parts/states.js";
import { StatusBadge } from "../parts/status.js";
import { href } from "../route.js";
import { CancelButton, RunAgainButton } from "./execution-actions.js";
import { ExecutionFacts } from "./execution-facts.js";
import { ExecutionLog } from "./execution-log.js";
import { Outcome, ProgressBar, StoredValue } from "./execution-outcome.js";
import { type CallTree, Timeline } from "./timeline.js";

export function ExecutionPage({ id }: { readonly id: string }): VNode {
  const live = useLiveExecution(id);
  const { execution, problem, reload } = live;
  const title =
    execution === undefined
      ? "Execution"
      : `${execution.skillName || "Unknown skill"}${execution.skillVersion && `@${execution.skillVersion}`}`;
  return (
    <>
      <PageHeader
        title={title}
        back={{ path: ["executions"], label: "Executions" }}
        {...(execution && { lead: <Lead execution={execution} /> })}
      >
        {execution !== undefined && (
          <>
            <CancelButton execution={execution} onDone={reload} />
            <RunAgainButton execution={execution} />
          </>
        )}
      </PageHeader>
      {problem !== undefined &&
        (execution === undefined && problem.status === 404 ? <Missing /> : <ProblemPanel problem={problem} onRetry={reload} />)}
      {execution === undefined ? (
        problem === undefined && <Loading what="Loading the execution" />
      ) : (
        <Details live={live} execution={execution} />
      )}
    </>
  );
}

function Lead({ execution }: { readonly execution: Execution }): VNode {
  return (
    <span class="lead-line" aria-live="polite">
      <StatusBadge status={execution.status} /> <code>{execution.id}</code>
    </span>
  );
}

function Missing(): VNode {
  return (
    <Empty title="There is no such execution">
      <p>
        It was pruned, belongs to another owner, or the address is wrong. <a href={href(["executions"])}>Show all executions</a>
      </p>
    </Empty>
  );
}

interface DetailsProps {
  readonly live: ReturnType<typeof useLiveExecution>;
  readonly execution: Execution;
}

function Details({ live, execution }: DetailsProps): VNode {
  const { progress, missing } = live;
  const lines = live.lines.length > 0 ? live.lines : storedLines(execution);
  const mayReadLog = useMay("operator");
  return (
    <div class="execution-layout">
      <div class="stack">
        <section class="panel" aria-labelledby="outcome">
          <h2 id="outcome">Outcome</h2>
          <ProgressBar execution={execution} progress={progress} />
          <Outcome execution={execution} />
        </section>
        <section class="panel" aria-labelledby="input">
          <h2 id="input">Input</h2>
          {execution.status === "DENIED" ? (
            <p class="hint">The call was refused; its input is not stored.</p>
          ) : (
            <StoredValue label="Input" value={execution.input} />
          )}
        </section>
        <TimelinePanel execution={execution} />
        <section class="panel" aria-labelledby="log">
          <h2 id="log">Log</h2>
          {lines.length === 0 ? (
            <p class="hint">{logHint(execution, mayReadLog)}</p>
          ) : (
            <ExecutionLog lines={lines} missing={missing} />
          )}
        </section>
      </div>
      <ExecutionFacts execution={execution} />
    </div>
  );
}

/** What a container wrote is stored; what a handler logged is not. */
function storedLines({ log }: Execution): readonly LogLine[] {
  const lines = log === undefined ? [] : log.replace(/\n$/, "").split(/\r?\n/);
  return lines.map((text) => ({ kind: "stderr", at: "", text, fields: null }));
}

function logHint({ finishedAt }: Execution, mayRead: boolean): string {
  if (!mayRead) return "Operators can read it.";
  if (finishedAt === null) return "Nothing was logged so far.";
  return "The server has no lines of it. It keeps the latest ones of recent executions in memory, of the process that ran them.";
}

const RUNNING_RELOAD_MS = 2_000;

function TimelinePanel({ execution }: { readonly execution: Execution }): VNode {
  const isRunning = execution.finishedAt === null;
  const tree = useResource(
    `tree ${execution.id}`,
    (signal) => get<{ root: CallTree; isCut?: boolean }>(`executions/${encodeURIComponent(execution.id)}/tree`, {}, signal),
    isRunning ? RUNNING_RELOAD_MS : undefined,
  );
  const { reload } = tree;
  useEffect(() => {
    if (!isRunning) reload();
  }, [isRunning, reload]);
  return (
    <section class="panel" aria-labelledby="timeline">
      <h2 id="timeline">Timeline</h2>
      {tree.problem !== undefined && <ProblemPanel problem={tree.problem} onRetry={tree.reload} />}
      {tree.data !== undefined && <Timeline root={tree.data.root} isCut={tree.data.isCut === true} />}
    </section>
  );
}
