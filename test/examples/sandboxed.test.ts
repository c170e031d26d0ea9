import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { nodeImage, onEachEngine } from "../engines/engines.js";

const check = fileURLToPath(new URL("../../examples/sandboxed/check.js", import.meta.url));

async function runCheck(environment: NodeJS.ProcessEnv): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [check], { env: environment });
  return stdout;
}

onEachEngine("the sandboxed example", (engine) => {
  test("answers good programs, and ends bad ones well", { timeout: 120_000 }, async () => {
    const environment = { ...engine.environment, SKILLS_SANDBOX_RUNTIME: engine.name, SANDBOXED_NODE_IMAGE: nodeImage };
    expect(await runCheck(environment)).toBe("sandboxed: every answer is right\n");
  });
});

test("the sandboxed example says so when there is no engine, and does not count as passed", async () => {
  const run = promisify(execFile)(process.execPath, [check], { env: { ...process.env, PATH: "/nonexistent" } });
  await expect(run).rejects.toMatchObject({
    code: 77,
    stdout: expect.stringMatching(/nothing was checked. No container engine answers/),
  });
});
