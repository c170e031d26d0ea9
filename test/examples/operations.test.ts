import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { nodeImage, onEachEngine } from "../engines/engines.js";

const check = fileURLToPath(new URL("../../examples/operations/check.js", import.meta.url));

async function runCheck(environment: NodeJS.ProcessEnv): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [check], { env: environment });
  return stdout;
}

onEachEngine("the operations example", (engine) => {
  test("runs its container skill, and shows how it ran to operators only", { timeout: 120_000 }, async () => {
    const environment = { ...engine.environment, SKILLS_SANDBOX_RUNTIME: engine.name, OPERATIONS_IMAGE: nodeImage };
    expect(await runCheck(environment)).toBe("operations: every answer is right\n");
  });
});

test("the operations example says so when there is no engine, and does not count as passed", async () => {
  const run = promisify(execFile)(process.execPath, [check], { env: { ...process.env, PATH: "/nonexistent" } });
  await expect(run).rejects.toMatchObject({
    code: 77,
    stdout: expect.stringMatching(/no container was run. No container engine answers.*every answer is right/s),
  });
});
