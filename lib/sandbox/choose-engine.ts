import { SkillError } from "../errors.js";
import type { TriedEngine } from "../types.js";
import type { Cli } from "./cli.js";
import { cliEnvironment, proxyEnvironment } from "./cli-environment.js";
import { type Engine, type EngineName, engineNames, engineOrder, engineTable, isEngineName } from "./engine-table.js";
import { probeEngine } from "./probe.js";

export interface EngineChoice {
  /** The engine, asked for once and kept. @throws `SANDBOX_UNAVAILABLE` with every engine tried and why it failed. */
  choose(): Promise<Engine>;
  /** Asks anew at the next choice: the engine stopped answering. */
  forget(): void;
  readonly tried: readonly TriedEngine[];
}

/** An engine that was down a moment ago is not asked again before this, so that a burst of calls does not start a burst of processes. */
const failureKeptMs = 5000;

/** Chooses the engine named, else the first that answers. A name that is not in the table is refused at once. */
export function createEngineChoice(named: string | undefined, server: NodeJS.ProcessEnv): EngineChoice {
  if (named !== undefined && !isEngineName(named)) {
    throw new SkillError(
      "INVALID_OPTION",
      `The sandbox runtime ${JSON.stringify(named)} is not known; it must be one of ${engineNames.join(", ")}. It comes from the option sandbox.runtime or SKILLS_SANDBOX_RUNTIME.`,
    );
  }
  const order: readonly EngineName[] = named === undefined ? engineOrder(process.platform) : [named];
  let choice: Promise<Engine> | null = null;
  let failedAt = Number.NEGATIVE_INFINITY;
  let tried: TriedEngine[] = [];

  const ask = async (): Promise<Engine> => {
    const failures: TriedEngine[] = [];
    for (const name of order) {
      const cli: Cli = {
        traits: engineTable[name],
        binary: engineTable[name].binary,
        environment: () => cliEnvironment(server),
        proxies: () => proxyEnvironment(server),
      };
      const probe = await probeEngine(cli);
      if ("engine" in probe) {
        tried = [...failures, { name, reason: null }];
        return probe.engine;
      }
      failures.push({ name, reason: probe.reason });
    }
    tried = failures;
    throw new SkillError(
      "SANDBOX_UNAVAILABLE",
      `No container engine answers. ${failures.map(({ name, reason }) => `${name}: ${reason}.`).join(" ")}`,
      { retryAfterMs: failureKeptMs },
    );
  };

  return {
    async choose() {
      if (choice !== null && performance.now() - failedAt > failureKeptMs && failedAt > 0) choice = null;
      if (choice === null) {
        failedAt = Number.NEGATIVE_INFINITY;
        choice = ask();
        choice.catch(() => {
          failedAt = performance.now();
        });
      }
      return choice;
    },
    forget() {
      // A failure is kept for its time.
      if (failedAt < 0) choice = null;
    },
    get tried() {
      return tried;
    },
  };
}
