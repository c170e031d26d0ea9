import type { VNode } from "preact";
import { useLiveExecution } from "../data/use-live-execution.js";
import { shortId } from "../format.js";
import { ProblemPanel } from "../parts/problem-panel.js";
import { Loading } from "../parts/states.js";
import { StatusBadge } from "../parts/status.js";
import { href } from "../route.js";
import { CancelButton } from "./execution-actions.js";
import { ExecutionLog } from "./execution-log.js";
import { Outcome, ProgressBar } from "./execution-outcome.js";

/** What becomes of an execution that was just started, in short. */
export function LiveExecution({ id }: { readonly id: string }): VNode {
  const { execution, progress, lines, missing, problem, reload } = useLiveExecution(id);
  if (execution === undefined)
    return problem === undefined ? <Loading what="Starting" /> : <ProblemPanel problem={problem} onRetry={reload} />;
  return (
    <section class="result" aria-label="Result">
      <div class="result-head" aria-live="polite">
        <StatusBadge status={execution.status} />
        <a href={href(["executions", id])}>Execution {shortId(id)}</a>
        <CancelButton execution={execution} onDone={reload} />
      </div>
      <ProgressBar execution={execution} progress={progress} />
      <Outcome execution={execution} />
      {lines.length > 0 && <ExecutionLog lines={lines} missing={missing} />}
    </section>
  );
}
