import type { ComponentChildren, VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { get } from "./api/client.js";
import { currentToken, forgetToken } from "./api/token.js";
import { useMay, useSession } from "./data/session.js";
import { useResource } from "./data/use-resource.js";
import { Icon, type IconName } from "./parts/icon.js";
import { href } from "./route.js";

interface ShellProps {
  readonly section: string;
  readonly children: ComponentChildren;
  onSignOut(): void;
}

const SECTIONS: readonly { readonly id: string; readonly label: string; readonly icon: IconName }[] = [
  { id: "overview", label: "Overview", icon: "overview" },
  { id: "skills", label: "Skills", icon: "skill" },
  { id: "executions", label: "Executions", icon: "execution" },
  { id: "settings", label: "Settings", icon: "settings" },
];

/** What stands around every page. */
export function Shell({ section, children, onSignOut }: ShellProps): VNode {
  return (
    <div class="shell">
      <button type="button" class="skip-link" onClick={skipToMain}>
        Skip to the content
      </button>
      <header class="shell-bar">
        <a class="brand" href={href([])}>
          <Icon name="brand" /> Skills
        </a>
        <nav aria-label="Pages">
          {SECTIONS.map(({ id, label, icon }) => (
            <a key={id} href={href(id === "overview" ? [] : [id])} aria-current={id === section ? "page" : undefined}>
              <Icon name={icon} /> <span>{label}</span>
            </a>
          ))}
        </nav>
        <Account onSignOut={onSignOut} />
      </header>
      <main id="main" tabIndex={-1}>
        <SwitchedOffNotice />
        {children}
      </main>
    </div>
  );
}

/** A link would change the address, which says which page is shown. */
function skipToMain(): void {
  document.getElementById("main")?.focus();
}

function Account({ onSignOut }: { onSignOut(): void }): VNode {
  const { apiKeyId, role } = useSession();
  const signOut = () => {
    forgetToken();
    onSignOut();
  };
  return (
    <div class="account">
      <span class="account-who">
        <span class="account-name" title={`You are ${apiKeyId}`}>
          {apiKeyId}
        </span>
        <span class="account-role">{role}</span>
      </span>
      {currentToken() !== undefined && (
        <button type="button" class="quiet" onClick={signOut}>
          Sign out
        </button>
      )}
    </div>
  );
}

function SwitchedOffNotice(): VNode | null {
  const may = useMay("operator");
  const settings = useResource(
    `settings ${may}`,
    async (signal) => (may ? await get<{ skillsEnabled: boolean }>("settings", {}, signal) : null),
    30_000,
  );
  useChanged(settings.reload);
  if (settings.data?.skillsEnabled !== false) return null;
  return (
    <p class="notice notice-warning" role="status">
      <Icon name="pause" />
      <span>
        All skills are switched off: every call is refused. <a href={href(["settings"])}>Settings</a>
      </span>
    </p>
  );
}

/** Pages say that they changed a setting with an event, so that the notice need not wait for its next look. */
function useChanged(reload: () => void): void {
  const latest = useRef(reload);
  latest.current = reload;
  useEffect(() => {
    const listener = () => latest.current();
    addEventListener("skills-settings-changed", listener);
    return () => removeEventListener("skills-settings-changed", listener);
  }, []);
}
