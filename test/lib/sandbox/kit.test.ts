import { expect, onTestFinished, test } from "vitest";
import { createSkills, sandboxRunner } from "../../../lib/index.js";
import { openEngineKit } from "../../engines/engine-kit.js";
import { nodeImage, onEachEngine, shellImage } from "../../engines/engines.js";
import { recordingLogger } from "../../fixtures/kit.js";

onEachEngine("the sandbox of a kit", (engine) => {
  test("runs a command, and a handler passes text by environment and reads the output", async () => {
    const kit = openEngineKit(engine);
    const { stdout } = await kit.sandbox.run(shellImage, ["echo", "Hello from sandbox"]);
    expect(stdout).toBe("Hello from sandbox\n");

    await kit.registry.register({
      name: "summarizeText",
      schema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
      handler: "summarizeHandler",
    });
    kit.executor.registerHandler("summarizeHandler", async (input, _ctx) => {
      const { stdout } = await sandboxRunner.run(nodeImage, ["node", "-e", "console.log(process.env.INPUT_TEXT.slice(0, 4))"], {
        INPUT_TEXT: input.text as string,
      });
      return { summary: stdout.trim() };
    });
    expect(await kit.executor.run("summarizeText@1.0.0", { text: "Long article body…" })).toEqual({ summary: "Long" });
  });

  test("ends a container with its call: at the deadline, without the handler's help, and nothing is left when the kit is closed", async () => {
    const kit = openEngineKit(engine);
    const results: unknown[] = [];
    kit.define({
      name: "sleep",
      schema: { type: "object" },
      handler: async (_, { sandbox }) => {
        const { aborted, killed } = await sandbox.run(shellImage, ["sleep", "300"]);
        results.push({ aborted, killed });
      },
    });
    // The first use of an engine looks at its limits: that is not the program's time.
    await kit.sandbox.run(shellImage, ["true"]);
    expect(await kit.executor.execute("sleep", {}, { timeoutMs: 2_000 })).toMatchObject({
      status: "TIMEOUT",
      errorCode: "SKILL_TIMEOUT",
    });
    await kit.close({ graceMs: 0 });
    expect(results).toEqual([{ aborted: true, killed: true }]);
    expect(await engine.containers(kit.owner)).toEqual([]);
    await expect(kit.sandbox.run(shellImage, ["true"])).rejects.toMatchObject({ code: "SHUTTING_DOWN" });
  });

  test("refuses images that are not allowed", async () => {
    const kit = openEngineKit(engine, { images: [nodeImage] });
    await expect(kit.sandbox.run(shellImage, ["true"])).rejects.toMatchObject({ code: "IMAGE_NOT_ALLOWED", status: 403 });
  });
});

test("a kit that runs no container asks for no engine, and a misspelt option is named", async () => {
  const kit = createSkills({ database: ":memory:", logger: recordingLogger([]), sandbox: { runtime: "nothing-like-this" } });
  expect(kit.sandbox.stats()).toBeUndefined();
  await kit.close();
  expect(() => createSkills({ sandbox: { maxConcurent: 1 } as never })).toThrow(
    /sandbox has no option "maxConcurent"; did you mean "maxConcurrent"/,
  );
  expect(() => createSkills({ sandbox: { maxConcurrent: 0 } })).toThrow(expect.objectContaining({ code: "INVALID_OPTION" }));
});

test("nothing is started ahead for a skill that is registered disabled or off", async () => {
  const kit = createSkills({ database: ":memory:", logger: recordingLogger([]), sandbox: { runtime: "nothing-like-this" } });
  const work = { name: "work", schema: { type: "object" }, container: { image: "any", command: ["x"], warm: 1 } };
  await kit.registry.register({ ...work, enabled: false });
  await kit.registry.register({ ...work, version: "2.0.0", mode: "off" });
  // Also when a boot registers them again.
  await kit.registry.register(work);
  expect(kit.sandbox.stats()).toBeUndefined();
  await kit.close();
});

test("inside a handler a run whose settings are not valid is refused as outside of one", async () => {
  const kit = createSkills({ database: ":memory:", logger: recordingLogger([]) });
  onTestFinished(() => kit.close());
  const work = kit.define({
    name: "work",
    schema: { type: "object" },
    handler: async (_, { sandbox }) =>
      Promise.all(
        [{ signal: "stop" }, null].map((config) => sandbox.run("any", ["x"], {}, config as never).catch((error) => error.code)),
      ),
  });
  expect(await kit.executor.run(work, {})).toEqual(["INVALID_OPTION", "INVALID_OPTION"]);
});

test.each([
  { images: "node:22" },
  { images: "node" },
  { images: [5] },
  { allowEnv: "HOME" },
  { allowEnv: [5] },
  { allowUnenforcedLimits: "false" },
  { runtime: 5 },
  { owner: 5 },
  { defaults: { memoryMb: 0 } },
  { defaults: null },
])("the sandbox options %j are refused where they are written", (sandbox) => {
  expect(() => createSkills({ database: ":memory:", logger: recordingLogger([]), sandbox: sandbox as never })).toThrow(
    expect.objectContaining({ code: expect.stringMatching(/^INVALID_(OPTION|IMAGE)$/) }),
  );
});
