import type { Problem } from "../api/problem.js";
import type { Engines } from "../api/types.js";

/** One line about a part of the system. */
export interface EngineFact {
  readonly title: string;
  readonly state: "good" | "bad" | "warning" | "unknown";
  readonly text: string;
  readonly link?: string;
  readonly numbers?: readonly (readonly [name: string, value: number])[];
}

/** What the server says of its container engine, and of the containers that it runs. */
export function describeEngines(engines: Engines | null | undefined, problem: Problem | undefined): readonly EngineFact[] {
  if (engines === null || engines === undefined)
    return [{ title: "Containers", state: "unknown", text: problem === undefined ? "Asking…" : problem.message }];
  return [engineFact(engines), ...containerFacts(engines)];
}

function engineFact({ sandbox, stats, problem }: Engines): EngineFact {
  const title = "Container engine";
  if (sandbox !== null) {
    const { engine, version, rootless = false, warnings = [] } = sandbox;
    const text = [engine, version, rootless ? "rootless" : ""].filter(Boolean).join(" ");
    const missing = missingLimits(sandbox.limits);
    if (missing.length > 0) return { title, state: "bad", text: `${text}: it does not enforce ${missing.join(", ")}` };
    if (warnings.length > 0) return { title, state: "warning", text: `${text}: ${warnings.join(" ")}` };
    return { title, state: "good", text };
  }
  if (stats === null) return { title, state: "unknown", text: "This application runs no containers" };
  return { title, state: "bad", text: problem?.detail ?? "No container engine answers: run npx express-skills doctor" };
}

function containerFacts({ stats }: Engines): EngineFact[] {
  if (stats === null) return [];
  const { running = 0, queued = 0, slots } = stats;
  const misses = Object.values(slots?.misses ?? {}).reduce((sum, count) => sum + count, 0);
  return [
    {
      title: "Containers",
      state: queued > 0 ? "warning" : "good",
      text: queued > 0 ? "Calls wait for a place" : "There is room for more",
      numbers: [
        ["running", running],
        ["waiting", queued],
      ],
    },
    {
      title: "Slots",
      state: (slots?.misses?.failing ?? 0) > 0 ? "warning" : "good",
      text: (slots?.misses?.failing ?? 0) > 0 ? "Some could not be started ahead" : "Containers that were started ahead",
      numbers: [
        ["ready", slots?.waiting ?? 0],
        ["starting", slots?.starting ?? 0],
        ["warm calls", slots?.hits ?? 0],
        ["cold calls", misses],
      ],
    },
  ];
}

/** `null` until a container has looked at its own limits. */
function missingLimits(limits: object | null | undefined): string[] {
  return Object.entries(limits ?? {}).flatMap(([name, isEnforced]) => (isEnforced === false ? [name] : []));
}
