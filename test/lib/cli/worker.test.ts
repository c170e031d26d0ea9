import { describe, expect, test } from "vitest";
import { createSkills } from "../../../lib/index.js";
import { until } from "../../fixtures/kit.js";
import { commandLine, handlers, makeDatabase, timeout } from "./command-line.js";

describe("express-skills worker", { timeout }, () => {
  test("works off the queue until SIGTERM, lets what runs finish, and leaves the rest", async () => {
    const line = commandLine();
    await makeDatabase(line);
    // It runs on until half a second after the signal.
    const slow = `kit.define({ name: "slow", schema: {}, handler: async () => { await new Promise((r) => process.once("SIGTERM", () => setTimeout(r, 500))); return "slow"; } });`;
    line.write("handlers.mjs", handlers.replace("export default (kit) => {", `export default (kit) => { ${slow}`));
    const worker = line.start(["worker", "--require", "./handlers.mjs", "--concurrency", "1"]);
    await worker.printed("The worker is ready");
    const kit = createSkills({ database: line.file, worker: false });
    try {
      const first = await kit.executor.enqueue("count", { n: 3 });
      await until(async () => (await kit.executor.getExecution(first.id))?.status === "SUCCESS");
      const running = await kit.executor.enqueue("slow", {});
      const waiting = await kit.executor.enqueue("count", {});
      await until(async () => (await kit.executor.getExecution(running.id))?.status === "RUNNING");
      worker.child.kill("SIGTERM");
      expect((await worker.ended).code).toBe(0);
      expect(await kit.executor.getExecution(running.id)).toMatchObject({ status: "SUCCESS", output: "slow" });
      expect(await kit.executor.getExecution(waiting.id)).toMatchObject({ status: "QUEUED" });
    } finally {
      await kit.close();
    }
  });

  test("refuses a database that is not there, and a concurrency that is none", async () => {
    const line = commandLine();
    expect(await line.run("worker")).toMatchObject({ code: 3 });
    await makeDatabase(line);
    expect(await line.run("worker", "--concurrency", "0")).toMatchObject({ code: 2 });
  });
});
