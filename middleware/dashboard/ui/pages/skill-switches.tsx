import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { call } from "../api/client.js";
import type { SkillHead } from "../api/types.js";
import { useMay } from "../data/session.js";
import { useAction } from "../data/use-action.js";
import { Confirm } from "../parts/dialog.js";
import { SelectField, Switch } from "../parts/fields.js";
import { ProblemPanel } from "../parts/problem-panel.js";
import { go } from "../route.js";

const MODES = [
  ["on", "On: runs when called"],
  ["auto", "Auto: offered to models when relevant"],
  ["off", "Off: never runs"],
] as const;

interface SkillSwitchesProps {
  readonly head: SkillHead;
  onChange(): void;
}

/** What operators may change of a version. */
export function SkillSwitches({ head, onChange }: SkillSwitchesProps): VNode {
  const may = useMay("operator");
  const mayRemove = useMay("admin");
  const [isRemoving, setRemoving] = useState(false);
  const change = useAction(async (body: Readonly<Record<string, unknown>>) => {
    await call(addressOf(head), { method: "PATCH", query: { owner: head.apiKeyId }, body });
    onChange();
  });
  const remove = useAction(async () => {
    await call(addressOf(head), { method: "DELETE", query: { owner: head.apiKeyId } });
    go(["skills"]);
  });
  return (
    <section class="panel" aria-label={`State of version ${head.version}`}>
      <div class="switches">
        <div class="switch-row">
          <Switch
            label={`Version ${head.version} is enabled`}
            isOn={head.enabled}
            isDisabled={!may || change.isBusy}
            onChange={(enabled) => void change.start({ enabled })}
          />
          <span aria-live="polite">{head.enabled ? "Enabled" : "Disabled: ranges skip this version"}</span>
        </div>
        <SelectField
          label="Mode"
          value={head.mode}
          choices={MODES}
          isDisabled={!may || change.isBusy}
          onChange={(mode) => void change.start({ mode })}
        />
        {mayRemove && (
          <button type="button" class="danger-quiet" onClick={() => setRemoving(true)}>
            Unregister
          </button>
        )}
      </div>
      {!may && <p class="hint">Operators can change these.</p>}
      {change.problem !== undefined && <ProblemPanel problem={change.problem} />}
      {isRemoving && (
        <Confirm
          title={`Unregister ${head.name}@${head.version}?`}
          action="Unregister"
          isDangerous
          isBusy={remove.isBusy}
          problem={remove.problem}
          onConfirm={() => void remove.start()}
          onClose={() => setRemoving(false)}
        >
          <p>Calls of this version will be refused. Its executions stay.</p>
        </Confirm>
      )}
    </section>
  );
}

function addressOf({ name, version }: SkillHead): string {
  return `skills/${encodeURIComponent(name)}/versions/${encodeURIComponent(version)}`;
}
