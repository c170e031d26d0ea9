import { describe, expect, test } from "vitest";
import type { ContainerSpec, SkillDefinition } from "../../../lib/index.js";
import { openTestKit } from "../../fixtures/kit.js";

const container: ContainerSpec = { image: "node:22-alpine", command: ["node", "main.js"] };

function definition(spec: unknown = container, rest: object = {}): SkillDefinition {
  return { name: "work", schema: { type: "object" }, container: spec, ...rest } as SkillDefinition;
}

async function faultsOf(given: SkillDefinition): Promise<unknown> {
  const error = await openTestKit()
    .registry.register(given)
    .catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: "INVALID_DEFINITION" });
  const { faults } = error as { faults: readonly { pointer: string; message: string }[] };
  return Object.fromEntries(faults.map(({ pointer, message }) => [pointer, message]));
}

describe("a skill with a container", () => {
  test("is stored as it was given, and is immutable under its version", async () => {
    const kit = openTestKit();
    const spec: ContainerSpec = {
      ...container,
      env: { A: "b", TOKEN: { fromEnv: "TOKEN_OF_THE_SERVER" } },
      files: { "main.js": "1", "lib/two.js": "2" },
      reply: "line",
      output: "text",
      warm: 2,
      memoryMb: 512,
    };
    const skill = await kit.registry.register(definition({ ...spec, env: { A: "b" } }));
    expect(skill).toMatchObject({ handler: null, container: { ...spec, env: { A: "b" } } });
    expect(await kit.registry.getSkill("work")).toEqual(skill);
    expect(await kit.registry.register(definition({ ...spec, env: { A: "b" } }))).toEqual(skill);
    await expect(kit.registry.register(definition({ ...spec, env: { A: "c" } }))).rejects.toMatchObject({
      code: "SKILL_CONFLICT",
      message: expect.stringContaining("different: container"),
    });
    await kit.registry.register(definition(container), { replace: true });
    expect((await kit.registry.getSkill("work"))?.contentHash).not.toBe(skill.contentHash);
  });

  test("survives a restart", async () => {
    const kit = openTestKit();
    const skill = await kit.registry.register(definition());
    await kit.close();
    expect(await openTestKit({ database: kit.file }).registry.getSkill("work")).toEqual(skill);
  });

  test("has either a handler or a container", async () => {
    expect(await faultsOf({ name: "work", schema: { type: "object" } })).toEqual({
      "/handler": "is required, unless a container does the work",
    });
    expect(await faultsOf(definition(container, { handler: "h" }))).toEqual({
      "/container": "cannot stand beside a handler: one of the two does the work",
    });
  });

  test.each([
    ["a flag for an image", { ...container, image: "--privileged" }, "/container/image"],
    ["no image", { command: ["x"] }, "/container/image"],
    ["no command", { image: "x" }, "/container/command"],
    ["an empty command", { ...container, command: [] }, "/container/command"],
    ["a command of one text", { ...container, command: "node main.js" }, "/container/command"],
    ["a name of a variable that is none", { ...container, env: { "A-B": "c" } }, "/container/env"],
    ["a variable that is no text", { ...container, env: { A: 1 } }, "/container/env"],
    ["a variable of the server without a name", { ...container, env: { A: { fromEnv: "" } } }, "/container/env"],
    ["a variable of the server and more", { ...container, env: { A: { fromEnv: "X", or: "y" } } }, "/container/env"],
    ["no limit", { ...container, memoryMb: 0 }, "/container/memoryMb"],
    ["the host's network", { ...container, network: "host" }, "/container/network"],
    ["a file outside", { ...container, files: { "../x": "y" } }, "/container/files"],
    ["a file that is no text", { ...container, files: { x: 1 } }, "/container/files"],
    ["an unknown reply", { ...container, reply: "stream" }, "/container/reply"],
    ["an unknown output", { ...container, output: "xml" }, "/container/output"],
    ["too many slots", { ...container, warm: 65 }, "/container/warm"],
    ["flags of the engine", { ...container, engineArgs: ["--privileged"] }, "/container/engineArgs"],
    ["another key", { ...container, imgae: "x" }, "/container/imgae"],
    ["a list", [container], "/container"],
    ["more than 1 MiB", { ...container, files: { x: "y".repeat(1024 * 1024) } }, "/container"],
  ])("that asks for %s is refused with a pointer to it", async (_what, spec, pointer) => {
    expect(Object.keys((await faultsOf(definition(spec))) as object)).toEqual([pointer]);
  });
});

describe("what the operator allows", () => {
  test("images that are not on the list are refused when they are registered", async () => {
    const kit = openTestKit({ sandbox: { images: ["node:22-alpine", "ghcr.io/acme/tools"] } });
    await kit.registry.register(definition());
    await kit.registry.register(definition({ ...container, image: "ghcr.io/acme/tools:3" }, { version: "1.1.0" }));
    for (const image of ["node:20", "alpine", "ghcr.io/acme/tools2"])
      await expect(kit.registry.register(definition({ ...container, image }, { version: "2.0.0" }))).rejects.toMatchObject({
        code: "IMAGE_NOT_ALLOWED",
        status: 403,
      });
  });

  test("variables of the server that are not allowed are refused", async () => {
    const env = { A: { fromEnv: "HOME" } };
    expect(await faultsOf(definition({ ...container, env }))).toEqual({
      "/container/env/A": "asks for a variable of the server that is not in sandbox.allowEnv",
    });
    await openTestKit({ sandbox: { allowEnv: ["HOME"] } }).registry.register(definition({ ...container, env }));
  });

  test("a registrant needs an image of the list, and gets no network, no root, and at most the default limits", async () => {
    const registrant = { registrant: true };
    await expect(openTestKit().registry.register(definition(), registrant)).rejects.toMatchObject({ code: "IMAGE_NOT_ALLOWED" });
    const kit = openTestKit({ sandbox: { images: ["node"], defaults: { memoryMb: 300 } } });
    const greedy = { ...container, memoryMb: 301, cpus: 2, pidsLimit: 129, network: "internal", user: "1000:0" };
    await expect(kit.registry.register(definition(greedy), registrant)).rejects.toMatchObject({
      code: "INVALID_DEFINITION",
      faults: ["cpus", "memoryMb", "pidsLimit", "network", "user"].map((key) => ({ pointer: `/container/${key}` })),
    });
    await kit.registry.register(definition({ ...container, memoryMb: 300, network: "none", user: "1000" }), registrant);
    await kit.registry.register(definition(greedy, { version: "2.0.0" }));
  });
});
