import { expect, test } from "vitest";
import type { ContainerSpec } from "../../../lib/types.js";
import { eventually, onEachEngine, shellImage } from "../../engines/engines.js";

const call = { owner: "system", timeoutMs: 30_000 };
const echo: ContainerSpec = { image: shellImage, command: ["sh", "-c", 'read -r line; echo "$line"'], warm: 1 };

onEachEngine("the life of slots", (engine) => {
  test("the reaper leaves a slot that waits alone: its own instance's, and another one's", async () => {
    const owner = `slots life ${engine.name} ${process.pid}`;
    const sandbox = engine.sandbox({ owner });
    const other = engine.sandbox({ owner });
    await sandbox.prepare(echo, "system");
    expect(await eventually(() => sandbox.stats().slots.waiting === 1)).toBe(true);
    // Nothing is left of what looked at the engine's limits.
    await sandbox.settled();
    expect([await sandbox.sweep(), await other.sweep()]).toEqual([0, 0]);
    expect((await sandbox.serve(echo, 1, call)).result.servedFrom).toBe("warm");
  });

  test("closing while slots are being started leaves no container, at whatever moment", async () => {
    const owner = `slots closing ${engine.name} ${process.pid}`;
    // The image and the limits are looked at once, so that the starts below begin at once.
    const first = engine.sandbox({ owner });
    await first.prepare(echo, "system");
    await first.close();
    for (const waitMs of [0, 40, 150, 400]) {
      const sandbox = engine.sandbox({ owner });
      const preparing = sandbox.prepare({ ...echo, warm: 3 }, "system").catch(() => {});
      await eventually(() => sandbox.stats().slots.starting > 0);
      await new Promise((resolve) => setTimeout(resolve, waitMs));
      await sandbox.close({ graceMs: 0 });
      await preparing;
      expect(sandbox.stats().slots).toMatchObject({ waiting: 0, starting: 0, idleDeaths: 0 });
      expect(await engine.containers(owner)).toEqual([]);
    }
  }, 90_000);

  test("once slots are ended, calls are served cold and start none", async () => {
    const sandbox = engine.sandbox();
    await sandbox.prepare(echo, "system");
    expect(await eventually(() => sandbox.stats().slots.waiting === 1)).toBe(true);
    sandbox.endSlots();
    expect((await sandbox.serve(echo, 1, call)).result.servedFrom).toBe("cold");
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(sandbox.stats().slots).toMatchObject({ waiting: 0, starting: 0 });
  });
});
