import type { VNode } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { call } from "../api/client.js";
import type { Problem } from "../api/problem.js";
import type { Execution, Skill } from "../api/types.js";
import { useMay, useSession } from "../data/session.js";
import { useAction } from "../data/use-action.js";
import { Field } from "../form/field.js";
import { JsonInput } from "../form/json-input.js";
import { Faults } from "../form/notes.js";
import { fieldPointers, initialValue, type Shape, shapeOf, toFieldFault } from "../form/shape.js";
import { Icon } from "../parts/icon.js";
import { ProblemPanel } from "../parts/problem-panel.js";
import { LiveExecution } from "./live-execution.js";

const SYSTEM_OWNER = "system";
/** After this the server answers with the execution as it is, and the page follows it. */
const WAIT_S = 1;

/** Runs a version with an input that is filled in, and shows what becomes of it. */
export function TryIt({ skill }: { readonly skill: Skill }): VNode {
  const shape = useMemo(() => shapeOf(skill.schema), [skill]);
  const [value, setValue] = useState<unknown>(() => initialValue(shape) ?? {});
  const [isJson, setJson] = useState(shape.kind !== "group");
  const [executionId, setExecutionId] = useState<string | undefined>();
  const form = useRef<HTMLFormElement>(null);
  const { apiKeyId } = useSession();
  const mayActForOthers = useMay("admin");
  const isOfOther = ![apiKeyId, SYSTEM_OWNER].includes(skill.apiKeyId);
  // Somebody else's skill is seen, and so found, by its owner only.
  const owner = isOfOther && mayActForOthers ? skill.apiKeyId : undefined;
  const run = useAction(async () => {
    setExecutionId(undefined);
    const { body } = await call<Pick<Execution, "id">>(
      `skills/${encodeURIComponent(`${skill.name}@${skill.version}`)}/executions`,
      {
        method: "POST",
        query: { owner },
        body: value ?? {},
        headers: { Prefer: `wait=${WAIT_S}` },
      },
    );
    setExecutionId(body.id);
  });
  const submit = async (event: Event) => {
    event.preventDefault();
    if (await run.start()) return;
    requestAnimationFrame(() => form.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus());
  };
  return (
    <section class="panel" aria-labelledby="try-it">
      <div class="panel-head">
        <h2 id="try-it">Try it</h2>
        {shape.kind === "group" && (
          <fieldset class="segments" aria-label="How the input is written">
            <button type="button" aria-pressed={!isJson} onClick={() => setJson(false)}>
              Form
            </button>
            <button type="button" aria-pressed={isJson} onClick={() => setJson(true)}>
              JSON
            </button>
          </fieldset>
        )}
      </div>
      {isOfOther && (
        <p class="hint">{owner === undefined ? `Only an admin can run skills of ${skill.apiKeyId}.` : `It runs as ${owner}.`}</p>
      )}
      <form ref={form} onSubmit={(event) => void submit(event)}>
        <InputFields shape={shape} isJson={isJson} value={value} problem={run.problem} onChange={setValue} />
        <button type="submit" class="primary" disabled={run.isBusy}>
          <Icon name="play" /> {run.isBusy ? "Running…" : "Run"}
        </button>
      </form>
      {executionId !== undefined && <LiveExecution key={executionId} id={executionId} />}
    </section>
  );
}

interface InputFieldsProps {
  readonly shape: Shape;
  readonly isJson: boolean;
  readonly value: unknown;
  readonly problem: Problem | undefined;
  onChange(value: unknown): void;
}

function InputFields({ shape, isJson, value, problem, onChange }: InputFieldsProps): VNode {
  const faults = (problem?.faults ?? []).map((fault) => (isJson ? fault : toFieldFault(fault)));
  const shown = isJson ? [] : fieldPointers(shape, value);
  const others = faults.filter(({ pointer }) => !shown.some((own) => pointer === own || pointer.startsWith(`${own}/`)));
  return (
    <>
      {problem !== undefined && faults.length === 0 && <ProblemPanel problem={problem} />}
      {faults.length > 0 && (
        <div class="problem" role="alert">
          <Icon name="warning" />
          <div>
            <p class="problem-title">The input does not match the schema</p>
            <Faults faults={others.map(({ pointer, message }) => ({ pointer, message: `${pointer} ${message}`.trim() }))} />
          </div>
        </div>
      )}
      {isJson ? (
        <div class="form-field">
          <label for="try-it-json">Input as JSON</label>
          <JsonInput
            id="try-it-json"
            isRequired
            isInvalid={faults.length > 0}
            describedBy={undefined}
            rows={8}
            value={value}
            onChange={onChange}
          />
        </div>
      ) : (
        <Field shape={shape} label="Input" isRequired pointer="" value={value} faults={faults} onChange={onChange} />
      )}
    </>
  );
}
