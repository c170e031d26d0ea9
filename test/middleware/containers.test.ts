import { request as httpRequest } from "node:http";
import express from "express";
import { expect, test } from "vitest";
import { type ContainerSpec, respond, skill, skillErrors } from "../../middleware/index.js";
import { engineOptions, useEngine } from "../engines/engine-kit.js";
import { eventually, onEachEngine, shellImage } from "../engines/engines.js";
import { newKit, post, serve } from "./servers.js";

onEachEngine("a route with a container skill", (engine) => {
  async function open(container: Omit<ContainerSpec, "image">) {
    useEngine(engine.environment);
    const options = engineOptions(engine);
    const kit = newKit({ sandbox: options });
    const work = kit.define({ name: "work", schema: { type: "object" }, container: { image: shellImage, ...container } });
    const app = express().use(express.json()).use(kit);
    app.post("/", skill(work), respond());
    await kit.ready();
    return { kit, url: await serve(app.use(skillErrors())), containers: () => engine.containers(options.owner) };
  }

  test("answers with the program's output, and never with its errors", async () => {
    const { url } = await open({
      command: ["sh", "-c", 'read -r line; echo "secret words" >&2; echo "$line"; test "$line" = "{}"'],
    });
    expect(await post(url, {})).toMatchObject({ status: 200, body: {} });
    const { status, body, text } = await post(url, { a: 1 });
    expect([status, body.code]).toEqual([500, "SKILL_FAILED"]);
    expect(text).not.toMatch(/secret|exit code/);
  });

  test.each(["cold", "warm"] as const)(
    "when the client leaves, its %s container is killed, and the row says so",
    async (servedFrom) => {
      const command = ["sh", "-c", "read -r line; echo got it >&2; sleep 300"];
      const { kit, url, containers } = await open({ command, warm: servedFrom === "warm" ? 1 : 0 });
      if (servedFrom === "warm") expect(await eventually(() => kit.sandbox.stats()?.slots.waiting === 1)).toBe(true);
      const request = httpRequest(url, { method: "POST", headers: { "content-type": "application/json" } });
      request.on("error", () => {});
      request.end("{}");
      const isRunning = async () => {
        const names = (await containers()).map((name) => engine.cli("top", name).catch(() => ""));
        return (await Promise.all(names)).some((processes) => processes.includes("sleep 300"));
      };
      expect(await eventually(isRunning)).toBe(true);
      request.destroy();
      expect(await eventually(async () => (await kit.executor.countExecutions({ status: "CANCELLED" })) === 1)).toBe(true);
      const [row] = await kit.executor.listExecutions();
      expect(row).toMatchObject({ log: "got it\n", sandbox: { runtime: engine.name, exitCode: null, servedFrom } });
      await kit.close({ graceMs: 0 });
      expect(await containers()).toEqual([]);
    },
    60_000,
  );
});
