import type { VNode } from "preact";
import type { Execution, Progress } from "../api/types.js";
import { formatCount } from "../format.js";
import { Icon } from "../parts/icon.js";
import { JsonView } from "../parts/json-view.js";

/** How far the handler says that it is; a moving bar when it says nothing. */
export function ProgressBar({
  execution,
  progress,
}: {
  readonly execution: Execution;
  readonly progress: Progress | undefined;
}): VNode | null {
  if (execution.finishedAt !== null) return null;
  const fraction = progress === undefined ? undefined : Math.min(1, Math.max(0, progress.fraction));
  return (
    <div class="progress">
      <progress aria-label="Progress" max={1} {...(fraction === undefined ? {} : { value: fraction })} />
      <span class="progress-text">
        {fraction !== undefined && <b>{Math.round(fraction * 100)} %</b>}{" "}
        {progress?.message ?? (fraction === undefined ? "Running" : "")}
      </span>
    </div>
  );
}

/** The output of what succeeded, the error of what did not. */
export function Outcome({ execution }: { readonly execution: Execution }): VNode | null {
  const { errorCode, errorMessage, output, finishedAt } = execution;
  return (
    <>
      {errorCode !== null && (
        <section class="problem" aria-label="Error">
          <Icon name="warning" />
          <div>
            <p class="problem-title">
              <code>{errorCode}</code>
            </p>
            {errorMessage !== null && <p class="error-message">{errorMessage}</p>}
          </div>
        </section>
      )}
      {(output !== null || (finishedAt !== null && errorCode === null)) && <StoredValue label="Output" value={output} />}
    </>
  );
}

interface CutValue {
  readonly $cut: true;
  readonly bytes: number;
  readonly head: string;
}

/** An input or output as the audit keeps it: what was too large was cut. */
export function StoredValue({ label, value }: { readonly label: string; readonly value: unknown }): VNode {
  if (!isCut(value)) return <JsonView label={label} value={value} />;
  return (
    <>
      <p class="hint">It has {formatCount(value.bytes)} bytes; only its beginning is stored.</p>
      <JsonView label={`${label}, beginning`} value={value.head} />
    </>
  );
}

function isCut(value: unknown): value is CutValue {
  return typeof value === "object" && value !== null && (value as Partial<CutValue>).$cut === true;
}
