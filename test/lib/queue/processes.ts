import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import type { SkillExecution, SkillsKit } from "../../../lib/index.js";
import { newDatabase } from "../../fixtures/database.js";
import { openTestKit, temporaryFolder, until } from "../../fixtures/kit.js";

const script = fileURLToPath(new URL("children/worker.js", import.meta.url));

export interface WorkerProcess {
  readonly child: ChildProcess;
  kill(): Promise<void>;
}

/** As the workers define them. */
const definitions = [
  { name: "count" },
  { name: "hang", idempotent: false, timeoutMs: 600_000 },
  { name: "hang-idempotent", idempotent: true, timeoutMs: 600_000 },
  { name: "deadly", idempotent: true },
];

/** A database with a kit that enqueues and has no handlers, and worker processes on the same file. */
export async function openQueue() {
  const folder = temporaryFolder();
  const database = newDatabase();
  const effects = `${folder}/effects.txt`;
  const kit = openTestKit({ database, worker: false });
  for (const definition of definitions) {
    const handler = `${definition.name}@1.0.0`;
    await kit.registry.register({ ...definition, handler, schema: { type: "object" } }, { patterns: "native" });
  }
  return {
    kit,
    database,
    /** What the workers did: `pid what`. */
    effects: () => (existsSync(effects) ? readFileSync(effects, "utf8").trim().split("\n") : []),
    async startWorker(environment: NodeJS.ProcessEnv = {}, concurrency = 10): Promise<WorkerProcess> {
      const child = spawn(process.execPath, ["--no-warnings", script, database, effects, String(concurrency)], {
        stdio: ["ignore", "pipe", "inherit"],
        env: { ...process.env, ...environment },
      });
      onTestFinished(() => void child.kill("SIGKILL"));
      await once(child.stdout as NodeJS.ReadableStream, "data");
      return {
        child,
        async kill() {
          child.kill("SIGKILL");
          await once(child, "exit");
        },
      };
    },
  };
}

export async function ended(kit: SkillsKit, id: string, limitMs = 30_000): Promise<SkillExecution<unknown> | undefined> {
  await until(async () => (await kit.executor.getExecution(id))?.finishedAt != null, limitMs);
  return kit.executor.getExecution(id);
}

export async function running(kit: SkillsKit, id: string): Promise<void> {
  await until(async () => (await kit.executor.getExecution(id))?.status === "RUNNING");
}
