import { expect, test } from "vitest";
import { openEngineKit } from "../../engines/engine-kit.js";
import { onEachEngine, shellImage } from "../../engines/engines.js";
import { newDatabase } from "../../fixtures/database.js";
import { openTestKit, until } from "../../fixtures/kit.js";

const skill = (script: string) => ({
  name: "contained",
  schema: { type: "object" },
  container: { image: shellImage, command: ["sh", "-c", script] },
});

onEachEngine("queued work of a container", (engine) => {
  /** A kit that only enqueues, and one whose worker has the engine. */
  async function openBoth(script: string) {
    const database = newDatabase();
    const web = openTestKit({ database, worker: false });
    await web.registry.register(skill(script));
    const worker = openEngineKit(engine, {}, { database, worker: {} });
    return { web, worker };
  }

  test("is run by the worker whose engine answers, and its row says how", { timeout: 90_000 }, async () => {
    const { web, worker } = await openBoth('echo "warming up" >&2; cat');
    const { id } = await web.executor.enqueue("contained", { text: "a" });
    await worker.ready();
    await until(async () => (await web.executor.getExecution(id))?.finishedAt != null, 60_000);
    expect(await web.executor.getExecution(id)).toMatchObject({
      status: "SUCCESS",
      output: { text: "a" },
      sandbox: { runtime: engine.name, image: shellImage, exitCode: 0 },
      log: "warming up\n",
    });
  });

  test("that is cancelled from another process ends with its container", { timeout: 90_000 }, async () => {
    const { web, worker } = await openBoth("sleep 300");
    const { id } = await web.executor.enqueue("contained", {});
    await worker.ready();
    await until(async () => (await engine.containers(worker.owner)).length === 1, 60_000);
    await web.executor.cancel(id);
    await until(async () => (await web.executor.getExecution(id))?.status === "CANCELLED");
    await until(async () => (await engine.containers(worker.owner)).length === 0);
  });
});
