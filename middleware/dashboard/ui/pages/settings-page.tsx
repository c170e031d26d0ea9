import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { call, get, open } from "../api/client.js";
import { useMay, useSession } from "../data/session.js";
import { useAction } from "../data/use-action.js";
import { type Resource, useResource } from "../data/use-resource.js";
import { Confirm } from "../parts/dialog.js";
import { Facts } from "../parts/facts.js";
import { Switch } from "../parts/fields.js";
import { PageHeader } from "../parts/page-header.js";
import { ProblemPanel } from "../parts/problem-panel.js";
import { Loading } from "../parts/states.js";

interface Settings {
  readonly skillsEnabled: boolean;
}

export function SettingsPage(): VNode {
  const may = useMay("operator");
  return (
    <>
      <PageHeader title="Settings" />
      <div class="stack narrow">
        {may && <MasterSwitch />}
        <You />
        <ApiPanel />
      </div>
    </>
  );
}

function MasterSwitch(): VNode {
  const settings = useResource("settings", (signal) => get<Settings>("settings", {}, signal), 15_000);
  return (
    <section class="panel" aria-labelledby="master-switch">
      <h2 id="master-switch">Master switch</h2>
      {settings.problem !== undefined && <ProblemPanel problem={settings.problem} onRetry={settings.reload} />}
      {settings.data === undefined ? (
        settings.problem === undefined && <Loading what="Loading" />
      ) : (
        <SwitchRow settings={settings} isOn={settings.data.skillsEnabled} />
      )}
    </section>
  );
}

function SwitchRow({ settings, isOn }: { readonly settings: Resource<Settings>; readonly isOn: boolean }): VNode {
  const mayWrite = useMay("admin");
  const [isAsking, setAsking] = useState(false);
  const change = useAction(async () => {
    await call("settings", { method: "PATCH", body: { skillsEnabled: !isOn } });
    setAsking(false);
    settings.reload();
    dispatchEvent(new Event("skills-settings-changed"));
  });
  const close = () => {
    setAsking(false);
    change.clear();
  };
  return (
    <>
      <div class="switch-row switch-row-large">
        <Switch label="Skills are switched on" isOn={isOn} isDisabled={!mayWrite} onChange={() => setAsking(true)} />
        <div aria-live="polite">
          <p class="switch-title">{isOn ? "Skills are on" : "Skills are off"}</p>
          <p class="hint">
            {isOn ? "Calls run as each skill allows." : "Every call is refused with SKILLS_DISABLED."} It holds for every process
            that uses this database.
          </p>
        </div>
      </div>
      {!mayWrite && <p class="hint">Only an admin can change it.</p>}
      {isAsking && (
        <Confirm
          title={isOn ? "Switch all skills off?" : "Switch skills on?"}
          action={isOn ? "Switch off" : "Switch on"}
          isDangerous={isOn}
          isBusy={change.isBusy}
          problem={change.problem}
          onConfirm={() => void change.start()}
          onClose={close}
        >
          <p>
            {isOn
              ? "From now on every call is refused, in every process that uses this database. Calls that run already go on to their end."
              : "Calls run again, each as its skill allows."}
          </p>
        </Confirm>
      )}
    </>
  );
}

const MAY = {
  admin: "everything: register and unregister skills, and change settings",
  operator: "see all owners' executions, cancel them and run them again, and switch skills",
  caller: "run the skills you see, and see and cancel your own executions",
} as const;

function You(): VNode {
  const { apiKeyId, role } = useSession();
  return (
    <section class="panel" aria-labelledby="you">
      <h2 id="you">You</h2>
      <Facts
        rows={[
          ["Key", <code key="key">{apiKeyId}</code>],
          ["Role", role],
          ["You may", MAY[role]],
        ]}
      />
    </section>
  );
}

function ApiPanel(): VNode {
  const download = useAction(async () => {
    const content = await (await open("api/openapi.json")).blob();
    saveAs(content, "openapi.json");
  });
  return (
    <section class="panel" aria-labelledby="api">
      <h2 id="api">The API</h2>
      <p class="api-text">
        Everything here is also served as JSON, below <code>{apiAddress()}</code>. An OpenAPI 3.1 document describes it.
      </p>
      {download.problem !== undefined && <ProblemPanel problem={download.problem} />}
      <button type="button" disabled={download.isBusy} onClick={() => void download.start()}>
        Save openapi.json
      </button>
    </section>
  );
}

/** A plain link would go without the token. */
function saveAs(content: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

function apiAddress(): string {
  return new URL("api/", document.baseURI).pathname;
}
