import { expect, test } from "vitest";
import type { SandboxDescription, SandboxStats } from "../../../lib/index.js";
import { Problem } from "../../../middleware/dashboard/ui/api/problem.js";
import { describeEngines } from "../../../middleware/dashboard/ui/pages/engine-facts.js";

const sandbox: SandboxDescription = {
  engine: "podman",
  version: "4.9.3",
  server: "podman",
  rootless: true,
  remote: false,
  cpus: 2,
  limits: { memory: true, swap: null, cpu: true, pids: true },
  tried: [],
  warnings: [],
};
const stats: SandboxStats = {
  running: 2,
  queued: 0,
  removing: 0,
  slots: {
    hits: 40,
    misses: { first: 1, starting: 2, taken: 3, failing: 0 },
    idleDeaths: 0,
    evicted: 0,
    waiting: 4,
    starting: 1,
  },
};

test("an engine that answers and enforces its limits is well; what it cannot tell is not held against it", () => {
  const [engine, containers, slots] = describeEngines({ sandbox, stats, problem: null }, undefined);
  expect(engine).toMatchObject({ state: "good", text: "podman 4.9.3 rootless" });
  expect(containers?.numbers).toEqual([
    ["running", 2],
    ["waiting", 0],
  ]);
  expect(slots?.numbers).toEqual([
    ["ready", 4],
    ["starting", 1],
    ["warm calls", 40],
    ["cold calls", 6],
  ]);
});

test("an engine that ignores limits is bad, and says which", () => {
  const limits = { memory: false, swap: null, cpu: true, pids: false };
  const [engine] = describeEngines({ sandbox: { ...sandbox, limits }, stats, problem: null }, undefined);
  expect(engine).toMatchObject({ state: "bad", text: "podman 4.9.3 rootless: it does not enforce memory, pids" });
});

test("slots that cannot be started and calls that wait are warnings", () => {
  const misses = { ...stats.slots.misses, failing: 3 };
  const [, containers, slots] = describeEngines(
    { sandbox, stats: { ...stats, queued: 5, slots: { ...stats.slots, misses } }, problem: null },
    undefined,
  );
  expect([containers?.state, slots?.state]).toEqual(["warning", "warning"]);
});

test("no engine that answers is bad, unless no container was ever asked for", () => {
  const problem = { code: "SANDBOX_UNAVAILABLE", detail: "No container engine answers: podman is not installed." };
  expect(describeEngines({ sandbox: null, stats, problem }, undefined)[0]).toMatchObject({ state: "bad", text: problem.detail });
  const none = { first: 0, starting: 0, taken: 0, failing: 0 };
  const unused = {
    running: 0,
    queued: 0,
    removing: 0,
    slots: { ...stats.slots, hits: 0, misses: none, waiting: 0, starting: 0 },
  };
  for (const of of [unused, null])
    expect(describeEngines({ sandbox: null, stats: of, problem }, undefined)).toMatchObject([
      { state: "unknown", text: problem.detail },
    ]);
  expect(describeEngines(undefined, undefined)).toMatchObject([{ text: "Asking…" }]);
  expect(describeEngines(undefined, new Problem(503, { detail: "Later." }))).toMatchObject([{ text: "Later." }]);
});
