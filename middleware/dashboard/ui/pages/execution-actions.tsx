import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { call } from "../api/client.js";
import type { Execution } from "../api/types.js";
import { useMay } from "../data/session.js";
import { useAction } from "../data/use-action.js";
import { Confirm } from "../parts/dialog.js";
import { Icon } from "../parts/icon.js";
import { ProblemPanel } from "../parts/problem-panel.js";
import { go } from "../route.js";

export function CancelButton({ execution, onDone }: { readonly execution: Execution; onDone(): void }): VNode | null {
  const [isAsking, setAsking] = useState(false);
  const cancel = useAction(async () => {
    await call(`executions/${encodeURIComponent(execution.id)}/cancel`, { method: "POST", body: {} });
    setAsking(false);
    onDone();
  });
  const close = () => {
    setAsking(false);
    cancel.clear();
  };
  if (execution.finishedAt !== null) return null;
  return (
    <>
      <button type="button" class="danger-quiet" onClick={() => setAsking(true)}>
        <Icon name="stop" /> Cancel
      </button>
      {isAsking && (
        <Confirm
          title="Cancel this execution?"
          action="Cancel the execution"
          isDangerous
          isBusy={cancel.isBusy}
          problem={cancel.problem}
          onConfirm={() => void cancel.start()}
          onClose={close}
        >
          <p>{execution.skillName} is told to stop, and the call ends as cancelled. What it did so far is not undone.</p>
        </Confirm>
      )}
    </>
  );
}

/** Runs the same version with the same input again, as a new execution. */
export function RunAgainButton({ execution }: { readonly execution: Execution }): VNode | null {
  const may = useMay("operator");
  const retry = useAction(async () => {
    const { body } = await call<Pick<Execution, "id">>(`executions/${encodeURIComponent(execution.id)}/retry`, {
      method: "POST",
      body: {},
      headers: { Prefer: "wait=0" },
    });
    go(["executions", body.id]);
  });
  if (!may || execution.finishedAt === null) return null;
  return (
    <>
      <button type="button" disabled={retry.isBusy} onClick={() => void retry.start()}>
        <Icon name="repeat" /> Run again
      </button>
      {retry.problem !== undefined && <ProblemPanel problem={retry.problem} />}
    </>
  );
}
