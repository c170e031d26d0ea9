import type { VNode } from "preact";
import { useCallback, useEffect, useState } from "preact/hooks";
import { onUnauthorized, open } from "./api/client.js";
import type { Session } from "./api/types.js";
import { SessionContext } from "./data/session.js";
import { useResource } from "./data/use-resource.js";
import { ExecutionPage } from "./pages/execution-page.js";
import { ExecutionsPage } from "./pages/executions-page.js";
import { NotFoundPage } from "./pages/not-found-page.js";
import { OverviewPage } from "./pages/overview-page.js";
import { SettingsPage } from "./pages/settings-page.js";
import { SignInPage } from "./pages/sign-in-page.js";
import { SkillPage } from "./pages/skill-page.js";
import { SkillsPage } from "./pages/skills-page.js";
import { ProblemPanel } from "./parts/problem-panel.js";
import { Loading } from "./parts/states.js";
import { type Route, useRoute } from "./route.js";
import { Shell } from "./shell.js";

/** The whole page: who is asking first, then what they asked for. */
export function App(): VNode {
  const [turn, setTurn] = useState(0);
  const [isRefused, setRefused] = useState(false);
  const session = useResource(`session ${turn}`, readSession);
  useEffect(() => onUnauthorized(() => setRefused(true)), []);
  const retry = useCallback(() => {
    setRefused(false);
    setTurn((before) => before + 1);
  }, []);
  const route = useRoute();

  if (isRefused || session.problem?.status === 401) return <SignInPage onToken={retry} />;
  if (session.problem !== undefined && session.data === undefined)
    return (
      <main class="alone">
        <ProblemPanel problem={session.problem} onRetry={retry} />
      </main>
    );
  if (session.data === undefined) return <Loading what="Asking the server who you are" />;
  return (
    <SessionContext.Provider value={session.data}>
      <Shell section={route.path[0] ?? "overview"} onSignOut={retry}>
        <PageOf route={route} />
      </Shell>
    </SessionContext.Provider>
  );
}

function PageOf({ route }: { readonly route: Route }): VNode {
  const [section = "overview", name, ...rest] = route.path;
  if (rest.length > 0) return <NotFoundPage />;
  if (section === "overview" && name === undefined) return <OverviewPage route={route} />;
  if (section === "skills")
    return name === undefined ? <SkillsPage route={route} /> : <SkillPage route={route} name={name} key={name} />;
  if (section === "executions")
    return name === undefined ? <ExecutionsPage route={route} /> : <ExecutionPage id={name} key={name} />;
  if (section === "settings" && name === undefined) return <SettingsPage />;
  return <NotFoundPage />;
}

async function readSession(signal: AbortSignal): Promise<Session> {
  return (await (await open("session", { signal })).json()) as Session;
}
