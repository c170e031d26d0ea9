import { expect, onTestFinished, test } from "vitest";
import type { ContainerSpec } from "../../../lib/types.js";
import { eventually, nodeImage, onEachEngine, shellImage } from "../../engines/engines.js";

const call = { owner: "system", timeoutMs: 30_000 };

/** Lets the process's clock run ahead, until the test ends. */
function advanceClock(byMs: number): void {
  const now = performance.now;
  performance.now = () => now.call(performance) + byMs;
  onTestFinished(() => {
    performance.now = now;
  });
}

onEachEngine("an image that changes under its name", (engine) => {
  test("ends what was started from the old one, and the next call is served by the new one", { timeout: 90_000 }, async () => {
    const image = `localhost/express-skills-test/changing-${process.pid}:1`;
    await engine.cli("tag", shellImage, image);
    onTestFinished(async () => {
      await engine.cli("rmi", image);
    });
    const sandbox = engine.sandbox({ owner: `changing ${engine.name} ${process.pid}` });
    const spec: ContainerSpec = {
      image,
      command: ["sh", "-c", "read -r line; if [ -x /bin/node ]; then echo 2; else echo 1; fi"],
      warm: 1,
    };
    const isReady = () => eventually(() => sandbox.stats().slots.waiting === 1);
    await sandbox.prepare(spec, "system", "id");
    expect(await isReady()).toBe(true);
    await engine.cli("tag", nodeImage, image);
    // What the engine said of a name is kept for half a minute.
    advanceClock(31_000);
    expect(await sandbox.serve(spec, 0, { ...call, skillId: "id" })).toMatchObject({ output: 2, result: { servedFrom: "cold" } });
    expect(await isReady()).toBe(true);
    expect(await sandbox.serve(spec, 0, { ...call, skillId: "id" })).toMatchObject({ output: 2, result: { servedFrom: "warm" } });
    await sandbox.close({ graceMs: 0 });
  });
});
