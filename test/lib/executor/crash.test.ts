import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { DEAD_AFTER_MS } from "../../../lib/executor/instances.js";
import { insertInstance } from "../../../lib/store/instances.js";
import { openStore } from "../../../lib/store/open.js";
import { newDatabase } from "../../fixtures/database.js";
import { gate, openTestKit, until } from "../../fixtures/kit.js";

const launch = `import { runnerImport } from "vite"; await runnerImport(process.argv[1], { configFile: false, logLevel: "error" });`;

async function startRunning(database: string) {
  const script = fileURLToPath(new URL("children/running.ts", import.meta.url));
  const child = spawn(process.execPath, ["--no-warnings", "--input-type=module", "--eval", launch, script, database], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [executionId] = await once(child.stdout, "data");
  return { child, executionId: String(executionId) };
}

describe("a process that is killed in the middle of a call", () => {
  test("leaves a RUNNING row that the next start marks INTERRUPTED, and no instance", async () => {
    const database = newDatabase();
    const { child, executionId } = await startRunning(database);
    const living = openTestKit({ database });
    expect(await living.executor.getExecution(executionId)).toMatchObject({ status: "RUNNING", finishedAt: null });
    await living.close();

    child.kill("SIGKILL");
    await once(child, "exit");
    const kit = openTestKit({ database });
    expect(await kit.executor.getExecution(executionId)).toMatchObject({
      status: "INTERRUPTED",
      errorCode: "SKILL_INTERRUPTED",
      skillName: "endless",
      input: { n: 1 },
      finishedAt: expect.any(String),
    });
    expect(kit.logged).toContainEqual(
      expect.objectContaining({ level: "warn", fields: expect.objectContaining({ interrupted: 1 }) }),
    );
  });
});

describe("an instance that was taken for dead while it lived", () => {
  test("has the late outcome of its call replace INTERRUPTED", async () => {
    const kit = openTestKit();
    const free = gate();
    kit.define({ name: "suspended", schema: { type: "object" }, handler: () => free.promise.then(() => "late") });
    const call = kit.executor.execute("suspended", {});
    await until(async () => (await kit.executor.countExecutions({ status: "RUNNING" })) === 1);
    const store = await openStore({ database: kit.file, durability: "process" });
    const { beatInstance, listInstances } = await import("../../../lib/store/instances.js");
    const [row] = await store.read(listInstances());
    await store.write(() => beatInstance(row?.id ?? "", new Date(Date.now() - 120_000).toISOString()));
    const other = openTestKit({ database: kit.file });
    await other.ready();
    expect(await other.executor.listExecutions()).toMatchObject([{ status: "INTERRUPTED" }]);
    free.open();
    expect(await call).toMatchObject({ status: "SUCCESS" });
    expect(await other.executor.listExecutions()).toMatchObject([{ status: "SUCCESS", output: "late", errorCode: null }]);
    await store.close();
  });

  test.each([
    ["of another host with a fresh heartbeat is alive", { host: "elsewhere", pid: 1, ageMs: 1_000 }, true],
    ["of another host with an old heartbeat is dead", { host: "elsewhere", pid: 1, ageMs: DEAD_AFTER_MS + 1_000 }, false],
    ["of this host whose process is gone is dead", { host: "here", pid: 2 ** 22 + 1, ageMs: 1_000 }, false],
    [
      "of this host and this very process number, but started before it, is dead",
      { host: "here", pid: process.pid, ageMs: 1_000, startedMs: 1e9 },
      false,
    ],
  ])("%s", async (_, instance, alive) => {
    const { hostname } = await import("node:os");
    const kit = openTestKit();
    const store = await openStore({ database: kit.file, durability: "process" });
    const ago = (ms: number) => new Date(Date.now() - ms).toISOString();
    await store.write(() =>
      insertInstance({
        id: "the-other",
        host: instance.host === "here" ? hostname() : instance.host,
        pid: instance.pid,
        started_at: ago("startedMs" in instance ? (instance.startedMs as number) : instance.ageMs),
        heartbeat_at: ago(instance.ageMs),
      }),
    );
    await kit.ready();
    const { listInstances } = await import("../../../lib/store/instances.js");
    const left = (await store.read(listInstances())).map((row) => row.id);
    expect(left.includes("the-other")).toBe(alive);
    expect(left).toHaveLength(alive ? 2 : 1);
    await store.close();
  });
});
