import { runCli } from "./cli.js";
import type { Engine } from "./engine-table.js";

/** What the engine says of a container. */
export interface ContainerState {
  readonly started: boolean;
  readonly running: boolean;
  readonly exitCode: number;
  readonly oomKilled: boolean;
  readonly error: string;
}

export type Inspection = { readonly state: ContainerState } | { readonly missing: true } | { readonly failure: string };

const inspectLimitMs = 5000;

export async function inspectContainer(engine: Engine, name: string): Promise<Inspection> {
  const outcome = await runCli(engine, ["inspect", "--type=container", "--format={{json .State}}", name], inspectLimitMs);
  if (outcome.code !== 0) {
    if (/no such (container|object)/i.test(outcome.stderr)) return { missing: true };
    return {
      failure: outcome.timedOut ? `inspect did not answer within ${inspectLimitMs} ms` : outcome.stderr.trim().slice(0, 500),
    };
  }
  try {
    const state = JSON.parse(outcome.stdout) as Record<string, unknown>;
    return {
      state: {
        // Engines write the year 1 for "never".
        started: typeof state["StartedAt"] === "string" && !state["StartedAt"].startsWith("0001-"),
        running: state["Running"] === true || state["Status"] === "running",
        exitCode: typeof state["ExitCode"] === "number" ? state["ExitCode"] : -1,
        oomKilled: state["OOMKilled"] === true,
        error: typeof state["Error"] === "string" ? state["Error"] : "",
      },
    };
  } catch {
    return { failure: "inspect answered in a way that is not understood" };
  }
}
