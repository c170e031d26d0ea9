import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rm, utimes } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { isProcessAlive } from "../../../lib/process-alive.js";
import { createInstance, type Instance, nextContainerName, processPart } from "../../../lib/sandbox/instance.js";
import { createSandbox } from "../../../lib/sandbox/sandbox.js";
import { openEngineKit } from "../../engines/engine-kit.js";
import { eventually, onEachEngine, ownerHash, shellImage } from "../../engines/engines.js";
import { createStubEngine } from "../../engines/stub-engine.js";
import { startServer } from "./children/start-server.js";

const foldersOf = async (owner: string) =>
  (await readdir(tmpdir())).filter((name) => name.startsWith(`express-skills-run-${ownerHash(owner)}-`));

onEachEngine("recovery", (engine) => {
  test("a kit that is ready removes what a killed one left, though it runs nothing itself", { timeout: 90_000 }, async () => {
    const owner = `recovery ${engine.name} ${process.pid}`;
    const server = startServer(engine.environment, engine.name, owner, shellImage);
    if (server.stdout !== null) await once(server.stdout, "data");
    server.kill("SIGKILL");
    await once(server, "exit");
    expect((await engine.containers(owner)).length).toBeGreaterThanOrEqual(3);
    const kit = openEngineKit(engine, { owner });
    await kit.ready();
    expect(await eventually(async () => (await engine.containers(owner)).length === 0)).toBe(true);
    expect(await eventually(async () => (await foldersOf(owner)).length === 0)).toBe(true);
    await kit.close();
    expect(await foldersOf(owner)).toEqual([]);
  });

  test("a container of a living instance is removed when its deadline has passed, and no other", async () => {
    const owner = `deadline ${engine.name} ${process.pid}`;
    // It lives in this process, and has forgotten its containers.
    const forgetful = createInstance(owner);
    const label = `--label=express-skills.owner=${forgetful.owner}`;
    const late = nextContainerName(forgetful, Date.now() - 5_000);
    const timely = nextContainerName(forgetful, Date.now() + 60_000);
    const foreign = nextContainerName(createInstance("somebody else"), Date.now() - 5_000);
    onTestFinished(() => void engine.cli("rm", "-f", late, timely, foreign).catch(() => {}));
    for (const name of [late, timely, foreign])
      await engine.cli("run", "-d", "--network=none", `--name=${name}`, label, shellImage, "sleep", "600");
    const sandbox = engine.sandbox({ owner });
    expect(await sandbox.sweep()).toBe(1);
    const left = await engine.cli("ps", "-a", "--format", "{{.Names}}");
    expect(left).not.toContain(late);
    expect(left).toContain(timely);
    expect(left).toContain(foreign);
    await engine.cli("rm", "-f", timely, foreign);
  });
});

const deadPid = 4_194_303;

/** The folder that a killed process would have left. */
async function leaveFolder(instance: Pick<Instance, "owner" | "host" | "started">, random: string, ageMs = 0): Promise<string> {
  const path = join(tmpdir(), `express-skills-run-${instance.owner}-${processPart({ ...instance, pid: deadPid, random })}`);
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  await mkdir(join(path, "1", "cwd"), { recursive: true });
  const then = (Date.now() - ageMs) / 1000;
  await utimes(path, then, then);
  return path;
}

test("a kit that finds nothing left asks for no engine", async () => {
  const stub = await createStubEngine();
  const kit = openEngineKit({ name: "docker", environment: stub.environment });
  await kit.ready();
  await sleep(500);
  expect(await stub.calls()).toEqual([]);
  expect(kit.sandbox.stats()).toBeUndefined();
});

test("a kit does not wait for an engine that does not answer, and keeps the mark of what was left", async () => {
  const stub = await createStubEngine({ version: 'echo $$ > "$FOLDER/asked"; exec sleep 60', info: "exec sleep 60" });
  const owner = `unanswered ${process.pid}`;
  const mark = await leaveFolder(createInstance(owner), "0123456789");
  const kit = openEngineKit({ name: "docker", environment: stub.environment }, { owner });
  await kit.ready();
  const asked = async () => Number(await readFile(join(stub.folder, "asked"), "utf8").catch(() => ""));
  expect(await eventually(async () => (await asked()) > 0)).toBe(true);
  // The engine is still asked: a kit that waited would have given up asking before it was ready.
  expect(isProcessAlive(await asked())).toBe(true);
  await kit.close({ graceMs: 0 });
  expect(existsSync(mark)).toBe(true);
});

test("a kit opens though something was left and its engine does not exist, and so does one with skills that are started ahead", async () => {
  const owner = `no such engine ${process.pid}`;
  const mark = await leaveFolder(createInstance(owner), "0123456789");
  const kit = openEngineKit({ name: "nothing-like-this" as "docker", environment: {} }, { owner });
  await kit.registry.register({ name: "work", schema: { type: "object" }, container: { image: "any", command: ["x"], warm: 1 } });
  expect(await kit.registry.getSkill("work")).toBeDefined();
  expect(await eventually(() => kit.logged.some(({ message }) => message.includes("started ahead")))).toBe(true);
  await expect(kit.sandbox.describe()).rejects.toMatchObject({ code: "INVALID_OPTION" });
  expect(existsSync(mark)).toBe(true);
});

test("the mark stays when the engine cannot list its containers", async () => {
  const stub = await createStubEngine({ ps: "exit 1" });
  const owner = `unlisted ${process.pid}`;
  const mark = await leaveFolder(createInstance(owner), "0123456789");
  const sandbox = createSandbox({ runtime: "docker", owner, environment: stub.environment });
  expect(await sandbox.sweep()).toBe(0);
  expect(existsSync(mark)).toBe(true);
  await sandbox.close();
});

test("temp folders of killed processes go: this application's at once, others' when they are old", async () => {
  const hourMs = 3_600_000;
  const owner = `folders ${process.pid}`;
  const stub = await createStubEngine();
  const own = createInstance(owner);
  const other = createInstance("another application");
  const elsewhere = { ...own, host: "00000000" };
  const gone = [
    await leaveFolder(own, "0000000001"),
    await leaveFolder(other, "0000000002", 25 * hourMs),
    await leaveFolder(elsewhere, "0000000003", 27 * 24 * hourMs),
  ];
  const kept = [
    await leaveFolder(other, "0000000004", 20 * hourMs),
    await leaveFolder(elsewhere, "0000000005", 20 * 24 * hourMs),
  ];
  const alive = join(tmpdir(), `express-skills-run-${other.owner}-${processPart(other)}`);
  onTestFinished(() => rm(alive, { recursive: true, force: true }));
  await mkdir(alive);
  await utimes(alive, 1, 1);
  const sandbox = createSandbox({ runtime: "docker", owner, environment: stub.environment });
  await sandbox.sweep();
  expect(gone.filter((path) => existsSync(path))).toEqual([]);
  expect([...kept, alive].filter((path) => !existsSync(path))).toEqual([]);
  await sandbox.close();
});
