import type { Problem } from "../api/problem.js";
import type { Engines, SandboxStats } from "../api/types.js";

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
    const { engine, version, rootless, warnings } = sandbox;
    const text = [engine, version, rootless ? "rootless" : ""].filter(Boolean).join(" ");
    const missing = missingLimits(sandbox.limits);
    if (missing.length > 0) return { title, state: "bad", text: `${text}: it does not enforce ${missing.join(", ")}` };
    if (warnings.length > 0) return { title, state: "warning", text: `${text}: ${warnings.join(" ")}` };
    return { title, state: "good", text };
  }
  // Without a single container so far, nobody misses it.
  const state = stats === null || isUnused(stats) ? "unknown" : "bad";
  return { title, state, text: problem?.detail ?? "No container engine answers: run npx express-skills doctor" };
}

function isUnused({ running, queued, slots: { hits, misses, waiting, starting } }: SandboxStats): boolean {
  return running + queued + hits + waiting + starting + sumOf(misses) === 0;
}

function sumOf(counts: object): number {
  return Object.values(counts).reduce((sum: number, count: number) => sum + count, 0);
}

function containerFacts({ sandbox, stats }: Engines): EngineFact[] {
  if (stats === null || (sandbox === null && isUnused(stats))) return [];
  const { running, queued, slots } = stats;
  const isFailing = slots.misses.failing > 0;
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
      state: isFailing ? "warning" : "good",
      text: isFailing ? "Some could not be started ahead" : "Containers that were started ahead",
      numbers: [
        ["ready", slots.waiting],
        ["starting", slots.starting],
        ["warm calls", slots.hits],
        ["cold calls", sumOf(slots.misses)],
      ],
    },
  ];
}

/** `null` until a container has looked at its own limits. */
function missingLimits(limits: object | null | undefined): string[] {
  return Object.entries(limits ?? {}).flatMap(([name, isEnforced]) => (isEnforced === false ? [name] : []));
}
