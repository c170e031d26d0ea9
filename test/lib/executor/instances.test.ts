import { setImmediate as turn } from "node:timers/promises";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { Instance } from "../../../lib/executor/instances.js";
import { insertInstance, listInstances } from "../../../lib/store/instances.js";
import { openStore } from "../../../lib/store/open.js";
import { newDatabase } from "../../fixtures/database.js";
import { recordingLogger } from "../../fixtures/kit.js";

afterEach(() => void vi.useRealTimers());

/** An instance whose clock and heartbeat the test moves, beside one of another machine that says nothing more. */
async function openBesideSilent() {
  const store = await openStore({ database: newDatabase(), durability: "process" });
  onTestFinished(async () => store.close());
  vi.useFakeTimers({ toFake: ["Date", "setInterval", "clearInterval"] });
  const nowIso = new Date().toISOString();
  const silent = { id: "silent", host: "elsewhere", pid: 1, started_at: nowIso, heartbeat_at: nowIso };
  await store.write(() => insertInstance(silent));
  const instance = new Instance("this", store, recordingLogger([]));
  await instance.open();
  onTestFinished(() => instance.close());
  const heartbeats = async () => new Map((await store.read(listInstances())).map(({ id, heartbeat_at }) => [id, heartbeat_at]));
  return {
    instance,
    heartbeats,
    /** Lets the heartbeat of the time be written, and then looks for dead instances. */
    async live(ms: number) {
      vi.advanceTimersByTime(ms);
      const atMs = Date.now();
      while (Date.parse((await heartbeats()).get("this") ?? "") < atMs - 9_999) await turn();
      await turn();
      await instance.sweep();
    },
  };
}

test("an instance is dead whose heartbeat stays away while others have theirs", async () => {
  const { heartbeats, live } = await openBesideSilent();
  for (let n = 0; n < 4; n++) await live(10_000);
  expect([...(await heartbeats()).keys()].sort()).toEqual(["silent", "this"]);
  await live(10_000);
  expect([...(await heartbeats()).keys()]).toEqual(["this"]);
});

test("after a time in which none could write, as when the database was away, all get time to say that they live", async () => {
  const { instance, heartbeats, live } = await openBesideSilent();
  vi.setSystemTime(Date.now() + 120_000);
  await instance.sweep();
  await live(10_000);
  await live(10_000);
  expect([...(await heartbeats()).keys()].sort()).toEqual(["silent", "this"]);
  await live(10_000);
  await live(10_000);
  expect([...(await heartbeats()).keys()]).toEqual(["this"]);
});
