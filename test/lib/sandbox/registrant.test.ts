import { expect, test } from "vitest";
import type { ContainerSpec } from "../../../lib/types.js";
import { openTestKit } from "../../fixtures/kit.js";

const container: ContainerSpec = { image: "node:22-alpine", command: ["node", "main.js"] };

test("a registrant's container gets no variable of the server, also none that the operator's own may read", async () => {
  const kit = openTestKit({ sandbox: { images: ["node"], allowEnv: ["API_KEY"] } });
  const definition = {
    name: "work",
    schema: { type: "object" },
    container: { ...container, env: { A: "b", KEY: { fromEnv: "API_KEY" } } },
  } as const;
  await expect(kit.registry.register(definition, { registrant: true })).rejects.toMatchObject({
    code: "INVALID_DEFINITION",
    faults: [{ pointer: "/container/env/KEY" }],
  });
  await kit.registry.register(definition);
});

test("a registrant's container gets neither more time than the sandbox's default nor many slots", async () => {
  const kit = openTestKit({ sandbox: { images: ["node"], defaults: { timeoutMs: 5_000 } } });
  const definition = { name: "work", schema: { type: "object" } } as const;
  const slow = { ...definition, container: { ...container, warm: 3 }, timeoutMs: 5_001 };
  await expect(kit.registry.register(slow, { registrant: true })).rejects.toMatchObject({
    code: "INVALID_DEFINITION",
    faults: [{ pointer: "/timeoutMs" }, { pointer: "/container/warm" }],
  });
  const most = { ...definition, container: { ...container, warm: 2 }, timeoutMs: 5_000 };
  await kit.registry.register({ ...most, enabled: false }, { registrant: true });
  await kit.registry.register({ ...slow, version: "2.0.0", enabled: false });
});
