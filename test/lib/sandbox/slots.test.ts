import { writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import type { Sandbox } from "../../../lib/sandbox/sandbox.js";
import type { ContainerSpec } from "../../../lib/types.js";
import { eventually, onEachEngine, ownerHash, shellImage } from "../../engines/engines.js";
import { createStubSandbox } from "../../engines/stub-engine.js";

const call = { owner: "system", timeoutMs: 30_000 };
const echo: ContainerSpec = {
  image: shellImage,
  command: ["sh", "-c", 'read -r line; echo "$line"; cat /proc/sys/kernel/random/uuid > /tmp/x; ls /tmp | wc -l >&2'],
  warm: 1,
};

const isReady = (sandbox: Sandbox, count = 1) => eventually(() => sandbox.stats().slots.waiting === count);

onEachEngine("slots", (engine) => {
  test("a second call is served by a container that was started ahead, with default settings", async () => {
    const sandbox = engine.sandbox();
    const first = await sandbox.serve(echo, { n: 1 }, call);
    expect(first).toMatchObject({ output: { n: 1 }, result: { servedFrom: "cold" } });
    expect(await isReady(sandbox)).toBe(true);
    const second = await sandbox.serve(echo, { n: 2 }, call);
    expect(second).toMatchObject({
      output: { n: 2 },
      result: { servedFrom: "warm", exitCode: 0, startupMs: 0, runtime: engine.name },
    });
    expect(second.result.id).not.toBe(first.result.id);
    expect(sandbox.stats().slots).toMatchObject({ hits: 1, misses: { first: 1 }, idleDeaths: 0 });
  });

  test("slots can be ready before the first call, and none serves twice", async () => {
    const sandbox = engine.sandbox();
    await sandbox.prepare({ ...echo, warm: 2 }, "system");
    expect(await isReady(sandbox, 2)).toBe(true);
    const replies = await Promise.all([1, 2, 3].map((n) => sandbox.serve({ ...echo, warm: 2 }, { n }, call)));
    expect(replies.map((reply) => reply.output)).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
    expect(replies.map((reply) => reply.result.servedFrom).sort()).toEqual(["cold", "warm", "warm"]);
    expect(new Set(replies.map((reply) => reply.result.id)).size).toBe(3);
    expect(replies.every((reply) => reply.result.stderr === "1\n")).toBe(true);
  });

  test("a warm container is isolated exactly as a cold one", async () => {
    const owner = `${engine.name} isolation ${process.pid}`;
    const sandbox = engine.sandbox({ owner });
    // The container that reads its own limits has come and gone after this.
    await sandbox.run(shellImage, ["true"]);
    const spec = { ...echo, command: ["sh", "-c", "cat; sleep 300"], files: { a: "b" }, env: { A: "b" }, memoryMb: 64 };
    const abort = new AbortController();
    const cold = sandbox.serve({ ...spec, warm: 0 }, {}, { ...call, timeoutMs: 60_000, signal: abort.signal });
    const inspect = async (name: string) => {
      const said = JSON.parse(await engine.cli("inspect", "--type", "container", name));
      const { Config, HostConfig, NetworkSettings, Mounts } = said[0];
      for (const list of [Config.Env, HostConfig.Binds, Config.CreateCommand ?? []]) list.sort();
      const text = JSON.stringify({
        Config,
        HostConfig,
        networks: Object.keys(NetworkSettings.Networks ?? {}),
        mounts: Mounts.length,
      });
      // Names, and what is derived from them, are the container's own.
      return text
        .replaceAll(/express-skills-[\w/-]+/g, "NAME")
        .replaceAll(/(express-skills\.(instance|deadline))("?[:=]"?)[\w-]+/g, "$1")
        .replaceAll(/\d{4}-\d\d-\d\dT[^"]*/g, "TIME")
        .split(",");
    };
    let names: readonly string[] = [];
    const areRunning = (count: number) =>
      eventually(async () => {
        const running = (await engine.cli("ps", "--format", "{{.Names}}")).split("\n");
        names = running.filter((name) => name.startsWith(`express-skills-${ownerHash(owner)}-`));
        return names.length === count;
      });
    expect(await areRunning(1)).toBe(true);
    const [coldName = ""] = names;
    const ofCold = await inspect(coldName);
    await sandbox.prepare(spec, "system");
    expect(await isReady(sandbox)).toBe(true);
    expect(await areRunning(2)).toBe(true);
    const warmName = names.find((name) => name !== coldName) ?? "";
    expect(await inspect(warmName)).toEqual(ofCold);
    abort.abort();
    await cold;
  });

  test("owners do not share slots, and a change of the skill ends the old ones", async () => {
    const sandbox = engine.sandbox();
    await sandbox.prepare(echo, "one", "first");
    expect(await isReady(sandbox)).toBe(true);
    expect((await sandbox.serve(echo, {}, { ...call, owner: "two", skillId: "second" })).result.servedFrom).toBe("cold");
    sandbox.drainSkill("first");
    sandbox.drainSkill("second");
    expect(sandbox.stats().slots.waiting).toBe(0);
    expect((await sandbox.serve(echo, {}, { ...call, owner: "one", skillId: "first" })).result.servedFrom).toBe("cold");
  });

  test("the call's clock starts when the slot is fed", async () => {
    const sandbox = engine.sandbox();
    const spec: ContainerSpec = { ...echo, command: ["sh", "-c", "read -r line; sleep 300"] };
    await sandbox.prepare(spec, "system");
    expect(await isReady(sandbox)).toBe(true);
    await new Promise((resolve) => setTimeout(resolve, 1500));
    const reply = await sandbox.serve(spec, {}, { ...call, timeoutMs: 1000 });
    expect(reply.result).toMatchObject({ servedFrom: "warm", timedOut: true });
    expect(reply.result.durationMs).toBeGreaterThan(900);
    // It was spent on the call that failed.
    const next = await sandbox.serve(spec, {}, { ...call, timeoutMs: 200 });
    expect(next.result.id).not.toBe(reply.result.id);
  });

  test("output before the input is not part of the answer", async () => {
    const owner = `${engine.name} early ${process.pid}`;
    const sandbox = engine.sandbox({ owner });
    const command = ["sh", "-c", 'echo early; echo early >&2; touch /tmp/said; read -r line; echo "$line"'];
    const spec: ContainerSpec = { ...echo, command };
    await sandbox.prepare(spec, "system");
    expect(await isReady(sandbox)).toBe(true);
    const hasSaid = (name: string) =>
      engine.cli("exec", name, "test", "-e", "/tmp/said").then(
        () => true,
        () => false,
      );
    expect(await eventually(async () => (await Promise.all((await engine.containers(owner)).map(hasSaid))).includes(true))).toBe(
      true,
    );
    // The way through the engine.
    await new Promise((resolve) => setTimeout(resolve, 500));
    const reply = await sandbox.serve(spec, { a: 1 }, call);
    expect(reply).toMatchObject({ output: { a: 1 }, result: { servedFrom: "warm", stderr: "" } });
  });

  test("an image whose program ends at once does not spin, and calls are served cold", async () => {
    const sandbox = engine.sandbox();
    const spec: ContainerSpec = { ...echo, command: ["sh", "-c", "echo 1"] };
    const begunAtMs = performance.now();
    await sandbox.prepare(spec, "system");
    expect(await eventually(() => sandbox.stats().slots.idleDeaths >= 2)).toBe(true);
    await new Promise((resolve) => setTimeout(resolve, 1500));
    const { idleDeaths } = sandbox.stats().slots;
    // The pauses are half a second, one, two, and so on: each death beyond the first needs twice the time.
    const pauses = Math.floor(Math.log2((performance.now() - begunAtMs) / 500 + 1));
    expect(idleDeaths).toBeLessThanOrEqual(1 + pauses);
    expect((await sandbox.serve(spec, {}, call)).output).toBe(1);
  });

  test("a slot whose program prints too much while it waits is given up", async () => {
    const sandbox = engine.sandbox();
    const spec: ContainerSpec = { ...echo, command: ["yes"], maxOutputBytes: 1000 };
    await sandbox.prepare(spec, "system");
    expect(await eventually(() => sandbox.stats().slots.idleDeaths >= 1)).toBe(true);
  });

  test("closing ends all slots, and starts none any more", async () => {
    const sandbox = engine.sandbox({ owner: `${engine.name} slots closing ${process.pid}` });
    await sandbox.prepare({ ...echo, warm: 3 }, "system");
    expect(await isReady(sandbox, 3)).toBe(true);
    await sandbox.close();
    expect(sandbox.stats().slots).toMatchObject({ waiting: 0, starting: 0 });
  });
});

const onStub = (options = {}, work = "") =>
  createStubSandbox(
    {
      run: `for a; do case "$a" in --name=*) n=$(echo "$a" | cut -d= -f2) ;; esac; done; echo $$ > "$FOLDER/$n"; read -r line; ${work} echo "$line"`,
      kill: 'kill -9 $(cat "$FOLDER/$3")',
      inspect: `echo '{"Status":"running","Running":true,"StartedAt":"2026-01-01T00:00:00Z"}'`,
    },
    options,
  );
const spec = (name: string): ContainerSpec => ({ image: "any", command: [name], warm: 2 });

test("slots of all skills together stay under their cap, and those used longest ago give way", async () => {
  const { sandbox } = await onStub({ maxSlots: 3 });
  await sandbox.prepare(spec("a"), "system");
  expect(await isReady(sandbox, 2)).toBe(true);
  await sandbox.prepare(spec("b"), "system");
  expect(await eventually(() => sandbox.stats().slots.waiting === 3)).toBe(true);
  expect(sandbox.stats().slots.evicted).toBe(1);
  await sandbox.close({ graceMs: 0 });
});

test("an idle slot ends after its limit", async () => {
  const { sandbox, calls } = await onStub({ slotIdleMs: 500 });
  await sandbox.prepare({ ...spec("a"), warm: 1 }, "system");
  // Nothing else ends a slot that nobody asks for. How long it waits is too short to be seen for sure.
  expect(await eventually(async () => (await calls()).some((line) => line.startsWith("kill")))).toBe(true);
  expect(sandbox.stats().slots).toMatchObject({ waiting: 0, starting: 0, idleDeaths: 0 });
  await sandbox.close({ graceMs: 0 });
});

test("a call that is cancelled before it begins takes no slot, and two calls never get the same one", async () => {
  const { sandbox } = await onStub();
  const one = { ...spec("a"), warm: 1 };
  await sandbox.prepare(one, "system");
  expect(await isReady(sandbox)).toBe(true);
  const failed = await sandbox.serve(one, {}, { ...call, signal: AbortSignal.abort() });
  expect(failed.error).toMatchObject({ code: "SKILL_CANCELLED" });
  const replies = await Promise.all([sandbox.serve(one, 1, call), sandbox.serve(one, 2, call)]);
  expect(replies.map((reply) => reply.output)).toEqual([1, 2]);
  expect(new Set(replies.map((reply) => reply.result.id)).size).toBe(2);
  await sandbox.close({ graceMs: 0 });
});

test("containers that were started ahead count among those that run at once", async () => {
  const { sandbox, folder } = await onStub({ maxConcurrent: 1 }, 'until [ -e "$FOLDER/go" ]; do sleep 0.05; done;');
  await sandbox.prepare(spec("a"), "system");
  expect(await isReady(sandbox, 2)).toBe(true);
  const replies = [sandbox.serve(spec("a"), 1, call), sandbox.serve(spec("a"), 2, call)];
  expect(await eventually(() => sandbox.stats().queued === 1)).toBe(true);
  expect(sandbox.stats().running).toBe(1);
  await writeFile(`${folder}/go`, "");
  expect(await Promise.all(replies)).toMatchObject([
    { output: 1, result: { servedFrom: "warm" } },
    { output: 2, result: { servedFrom: "warm" } },
  ]);
  await sandbox.close({ graceMs: 0 });
});
