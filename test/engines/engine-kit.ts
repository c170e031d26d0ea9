import { onTestFinished } from "vitest";
import { createSkills, type SkillsKit, type SkillsOptions } from "../../lib/index.js";
import { type LogLine, recordingLogger } from "../fixtures/kit.js";
import type { TestEngine } from "./engines.js";

export interface EngineKit extends SkillsKit {
  readonly owner: string;
  readonly logged: LogLine[];
}

let count = 0;

/** What leads to a test engine, in this process's own environment, until the test ends. */
export function useEngine(environment: NodeJS.ProcessEnv): void {
  for (const name of ["DOCKER_HOST", "CONTAINERS_CONF", "PATH"]) {
    const before = process.env[name];
    const value = environment[name];
    if (value !== undefined) process.env[name] = value;
    onTestFinished(() => {
      if (before === undefined) delete process.env[name];
      else process.env[name] = before;
    });
  }
}

/** The sandbox options of a kit whose containers are its own. */
export function engineOptions(engine: Pick<TestEngine, "name">): { readonly runtime: string; readonly owner: string } {
  count += 1;
  return { runtime: engine.name, owner: `kit ${process.pid} ${engine.name} ${count}` };
}

/** A kit in memory on a test engine, closed when the test ends. */
export function openEngineKit(
  engine: Pick<TestEngine, "name" | "environment">,
  sandbox: SkillsOptions["sandbox"] = {},
  options: SkillsOptions = {},
): EngineKit {
  useEngine(engine.environment);
  const own = engineOptions(engine);
  const logged: LogLine[] = [];
  const kit = createSkills({
    database: ":memory:",
    logger: recordingLogger(logged),
    ...options,
    sandbox: { ...own, ...sandbox },
  });
  onTestFinished(() => kit.close({ graceMs: 0 }));
  return { ...kit, owner: own.owner, logged };
}
