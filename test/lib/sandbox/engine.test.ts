import { writeFile } from "node:fs/promises";
import { expect, onTestFinished, test } from "vitest";
import { createSandbox, type Sandbox } from "../../../lib/sandbox/sandbox.js";
import { eventually, onEachEngine, shellImage } from "../../engines/engines.js";
import { createStubEngine, createStubSandbox } from "../../engines/stub-engine.js";

onEachEngine("the engine", (engine) => {
  test("says what it is", async () => {
    const found = await engine.sandbox().describe();
    expect(found).toMatchObject({ engine: engine.name, server: engine.name, tried: [{ name: engine.name, reason: null }] });
    expect(found.version).toMatch(/^\d+\./);
    expect(found.cpus).toBeGreaterThan(0);
  });

  test("is named by SKILLS_SANDBOX_RUNTIME", async () => {
    const environment = { ...engine.environment, SKILLS_SANDBOX_RUNTIME: engine.name };
    const result = await engine.sandbox({ runtime: undefined, environment }).run(shellImage, ["echo", "hi"]);
    expect(result).toMatchObject({ runtime: engine.name, stdout: "hi\n" });
  });
});

async function reasonOf(sandbox: Sandbox): Promise<string> {
  const error = await sandbox.run("any", ["x"]).then(
    () => expect.fail("an engine was found"),
    (caught: Error & { code?: string }) => caught,
  );
  expect(error.code).toBe("SANDBOX_UNAVAILABLE");
  return error.message;
}

test("an engine that is not installed, does not run, may not be used or does not answer is told from the others", async () => {
  const empty = createSandbox({ runtime: "docker", environment: { PATH: "/nowhere" } });
  const stopped = await createStubSandbox({
    version:
      'echo "{\\"Client\\":{},\\"Server\\":null}"; echo "Cannot connect to the Docker daemon at unix:///x. Is the docker daemon running?" >&2; exit 1',
  });
  const forbidden = await createStubSandbox({
    version: 'echo "permission denied while trying to connect to the Docker daemon socket" >&2; exit 1',
  });
  const silent = await createStubSandbox({ version: "exec sleep 60" });
  const reasons = await Promise.all([empty, stopped.sandbox, forbidden.sandbox, silent.sandbox].map(reasonOf));
  expect(reasons[0]).toMatch(/not installed/);
  expect(reasons[1]).toMatch(/no engine answers: Cannot connect/);
  expect(reasons[2]).toMatch(/may not use/);
  expect(reasons[3]).toMatch(/did not answer within 5000 ms/);
});

test("without a name every engine is tried, and the error says why each one failed", async () => {
  const sandbox = createSandbox({ environment: { PATH: "/nowhere" } });
  expect(await reasonOf(sandbox)).toMatch(/podman: podman is not installed.*docker: docker is not installed|docker: .*podman: /);
});

test("another engine is taken when the first is down; the one's limits are not taken for the other's", async () => {
  const canary = (memory: string) =>
    `case "$*" in *grep*) printf '/sys/fs/cgroup/memory.max:${memory}\\n/sys/fs/cgroup/cpu.max:1 1\\n/sys/fs/cgroup/pids.max:1\\n' ;; *) echo hello ;; esac`;
  const unlessDown = (text: string) => `[ -e "$FOLDER/down" ] && exit 1; echo '${text}'`;
  const podman = await createStubEngine(
    {
      version: unlessDown('{"Client":{"Version":"4.9.0","OsArch":"x"}}'),
      image: unlessDown(`{"Id":"sha256:${"b".repeat(64)}"}`),
      run: canary("1"),
    },
    "podman",
  );
  const docker = await createStubEngine({ run: canary("max") });
  const environment = { ...process.env, PATH: `${podman.folder}:${docker.environment["PATH"]}` };
  const sandbox = createSandbox({ environment, owner: "stub" });
  expect(await sandbox.run("any", ["x"])).toMatchObject({ runtime: "podman", stdout: "hello\n" });
  await writeFile(`${podman.folder}/down`, "");
  await expect(sandbox.run("another", ["x"])).rejects.toMatchObject({ code: "SANDBOX_UNAVAILABLE" });
  await expect(sandbox.run("any", ["x"])).rejects.toMatchObject({
    code: "SANDBOX_UNAVAILABLE",
    message: expect.stringMatching(/docker ignores these limits here: memory/),
  });
  expect(await sandbox.describe()).toMatchObject({
    engine: "docker",
    limits: { memory: false },
    tried: [
      { name: "podman", reason: expect.stringMatching(/no engine answers/) },
      { name: "docker", reason: null },
    ],
  });
  await sandbox.close({ graceMs: 0 });
});

test("an image is fetched though it is there when a run says so, and is looked at first when it does not", async () => {
  const { sandbox, calls } = await createStubSandbox({});
  await sandbox.run("a", ["x"]);
  expect((await calls()).some((call) => call.startsWith("pull"))).toBe(false);
  await sandbox.run("a", ["x"], {}, { pull: "always" });
  expect((await calls()).filter((call) => call.startsWith("pull"))).toEqual(["pull --quiet -- a"]);
  await sandbox.close();
});

test("an engine that does not exist is refused where it is named", () => {
  expect(() => createSandbox({ runtime: "lxc" })).toThrow(expect.objectContaining({ code: "INVALID_OPTION" }));
  expect(() => createSandbox({ environment: { SKILLS_SANDBOX_RUNTIME: "lxc" } })).toThrow(/docker, podman/);
});

/** Lets the process's clock stand still; the returned function moves it. Until the test ends. */
function holdClock(): (byMs: number) => void {
  const now = performance.now;
  let heldMs = now.call(performance);
  performance.now = () => heldMs;
  onTestFinished(() => {
    performance.now = now;
  });
  return (byMs) => {
    heldMs += byMs;
  };
}

test("an engine that is down is not asked again at once, and is found when it is back", async () => {
  const { sandbox, calls, folder } = await createStubSandbox({
    version: `[ -e "$FOLDER/up" ] || exit 1; echo '{"Client":{},"Server":{"Version":"1"}}'`,
  });
  const advanceClock = holdClock();
  await reasonOf(sandbox);
  advanceClock(4_900);
  await reasonOf(sandbox);
  expect((await calls()).filter((call) => call.startsWith("version"))).toHaveLength(1);
  await writeFile(`${folder}/up`, "");
  advanceClock(200);
  expect((await sandbox.run("any", ["x"])).stdout).toBe("hello\n");
  await sandbox.close();
});

test("docker that is podman in disguise is known for what it is", async () => {
  const link = await createStubSandbox({
    version: `echo '{"Client":{"Version":"4.9.0","OsArch":"linux/amd64"}}'`,
    info: `echo '{"host":{"cpus":2,"cgroupControllers":["memory","cpu","pids"]}}'`,
  });
  expect(await link.sandbox.describe()).toMatchObject({ engine: "podman", server: "podman", version: "4.9.0" });
  await link.sandbox.run("any", ["x"]);
  expect((await link.calls()).find((call) => call.startsWith("run"))).toContain("--http-proxy=false");
  const socket = await createStubSandbox({
    version: `echo '{"Client":{},"Server":{"Version":"4.9.0","Components":[{"Name":"Podman Engine"}]}}'`,
  });
  expect(await socket.sandbox.describe()).toMatchObject({ engine: "docker", server: "podman" });
  await Promise.all([link.sandbox.close(), socket.sandbox.close()]);
});

/** Shell code that waits for a file in the stub's folder, for as long as a test may take. */
const untilMade = (file: string) => `until [ -e "$FOLDER/${file}" ]; do sleep 0.05; done`;
const missingImage = 'echo "Error: No such image: $6" >&2; exit 1';

test("twenty runs of a missing image make one pull, and its failure is remembered for a moment", async () => {
  const { sandbox, calls } = await createStubSandbox({
    image: missingImage,
    pull: "sleep 0.3; echo 'manifest unknown' >&2; exit 1",
  });
  const runs = await Promise.allSettled(Array.from({ length: 20 }, () => sandbox.run("ghcr.io/a/b:1", ["x"])));
  for (const run of runs) expect(run).toMatchObject({ status: "rejected", reason: { code: "IMAGE_NOT_FOUND" } });
  await expect(sandbox.run("ghcr.io/a/b:1", ["x"])).rejects.toMatchObject({ code: "IMAGE_NOT_FOUND" });
  expect((await calls()).filter((call) => call.startsWith("pull"))).toEqual(["pull --quiet -- ghcr.io/a/b:1"]);
  await sandbox.close();
});

test("a pull has a limit of its own, and one caller who gives up does not end it for the others", async () => {
  const slow = await createStubSandbox({ image: missingImage, pull: "exec sleep 60" }, { pullTimeoutMs: 500 });
  await expect(slow.sandbox.run("a", ["x"])).rejects.toMatchObject({ code: "IMAGE_PULL_TIMEOUT" });
  const shared = await createStubSandbox({
    image: `if [ -e "$FOLDER/there" ]; then echo '{"Id":"sha256:${"b".repeat(64)}"}'; else ${missingImage}; fi`,
    pull: `${untilMade("go")}; touch "$FOLDER/there"`,
  });
  const abort = new AbortController();
  const aborted = shared.sandbox.run("a", ["x"], {}, { signal: abort.signal });
  const finished = shared.sandbox.run("a", ["x"]);
  expect(await eventually(async () => (await shared.calls()).some((call) => call.startsWith("pull")))).toBe(true);
  abort.abort();
  expect(await aborted).toMatchObject({ aborted: true, startupMs: null });
  await writeFile(`${shared.folder}/go`, "");
  expect((await finished).stdout).toBe("hello\n");
  await Promise.all([slow.sandbox.close(), shared.sandbox.close()]);
});

test("podman is told the registry of a short name, as docker takes it", async () => {
  const stub = await createStubEngine(
    { version: `echo '{"Client":{"Version":"4.9.0","OsArch":"x"}}'`, image: missingImage, pull: "exit 1" },
    "podman",
  );
  const sandbox = createSandbox({ runtime: "podman", owner: "stub", environment: stub.environment });
  await expect(sandbox.run("python:3.11-slim", ["x"])).rejects.toMatchObject({ code: "IMAGE_NOT_FOUND" });
  expect(await stub.calls()).toContain("pull --quiet -- docker.io/library/python:3.11-slim");
  await sandbox.close();
});

const digest = `sha256:${"c".repeat(64)}`;
const withDigest = { image: `echo '{"Id":"sha256:${"a".repeat(64)}","RepoDigests":["docker.io/library/node@${digest}"]}'` };

test.each([
  [["node"], "node:22", true],
  [["node:22"], "node:22", true],
  [["node:22"], "docker.io/library/node:22", true],
  [["node:22"], "node:20", false],
  [["node:22"], "node", false],
  [["node"], "evil/node", false],
  [["node"], "node-evil", false],
  [[`node@${digest}`], "node:22", true],
  [[`node@sha256:${"d".repeat(64)}`], "node:22", false],
  [["node:22"], `node@${digest}`, false],
  [[], "node", false],
])("with the allowed images %j, %s is allowed: %s", async (images, image, allowed) => {
  const { sandbox, calls } = await createStubSandbox(withDigest, { images });
  const run = sandbox.run(image, ["x"]);
  if (allowed) expect((await run).exitCode).toBe(0);
  else {
    await expect(run).rejects.toMatchObject({ code: "IMAGE_NOT_ALLOWED" });
    expect((await calls()).some((call) => call.startsWith("run"))).toBe(false);
  }
  await sandbox.close();
});

test("an engine that ignores limits is refused, unless the operator accepts it", async () => {
  const blind = {
    run: 'case "$*" in *grep*) echo "/sys/fs/cgroup/memory.max:max"; echo "/sys/fs/cgroup/pids.max:16" ;; *) echo hello ;; esac',
  };
  const refused = await createStubSandbox(blind, { allowUnenforcedLimits: false });
  await expect(refused.sandbox.run("any", ["x"])).rejects.toMatchObject({
    code: "SANDBOX_UNAVAILABLE",
    message: expect.stringMatching(/memory, cpu/),
  });
  const accepted = await createStubSandbox(blind);
  expect((await accepted.sandbox.run("any", ["x"])).stdout).toBe("hello\n");
  expect((await accepted.sandbox.describe("any")).limits).toEqual({ memory: false, swap: null, cpu: false, pids: true });
  await Promise.all([refused.sandbox.close(), accepted.sandbox.close()]);
});

test.each([
  ["setrlimit RLIMIT_NPROC: Operation not permitted", /default_ulimits/],
  ["unknown or invalid runtime name: runsc", /Install the runtime/],
  ["network mine not found", /Create the network/],
])("the known message %j comes with its cure", async (message, cure) => {
  const { sandbox } = await createStubSandbox({
    run: `echo "Error: ${message}" >&2; exit 126`,
    inspect: 'echo "no such container" >&2; exit 1',
  });
  await expect(sandbox.run("any", ["x"])).rejects.toMatchObject({ code: "START_FAILED", message: expect.stringMatching(cure) });
  await sandbox.close();
});

test("containers beyond the limit wait, and beyond the queue are refused with a hint", async () => {
  const { sandbox, folder } = await createStubSandbox(
    { run: untilMade("go") },
    { maxConcurrent: 1, maxQueued: 1, queueTimeoutMs: 60_000 },
  );
  const runs = [sandbox.run("any", ["x"])];
  expect(await eventually(() => sandbox.stats().running === 1)).toBe(true);
  runs.push(sandbox.run("any", ["x"]));
  expect(await eventually(() => sandbox.stats().queued === 1)).toBe(true);
  await expect(sandbox.run("any", ["x"])).rejects.toMatchObject({
    code: "SANDBOX_BUSY",
    retryable: true,
    headers: { "Retry-After": "30" },
  });
  await writeFile(`${folder}/go`, "");
  const results = await Promise.all(runs);
  expect(results.map((result) => result.exitCode)).toEqual([0, 0]);
  await sandbox.close();
});

test("a call does not wait longer for a place than the queue allows, nor longer than its caller", async () => {
  const open = (queueTimeoutMs: number) => createStubSandbox({ run: untilMade("go") }, { maxConcurrent: 1, queueTimeoutMs });
  const [short, long] = [await open(300), await open(600_000)];
  const first = [short, long].map(({ sandbox }) => sandbox.run("any", ["x"]));
  for (const { sandbox } of [short, long]) expect(await eventually(() => sandbox.stats().running === 1)).toBe(true);
  await expect(short.sandbox.run("any", ["x"])).rejects.toMatchObject({ code: "SANDBOX_BUSY" });
  const abort = new AbortController();
  const given = long.sandbox.run("any", ["x"], {}, { signal: abort.signal });
  expect(await eventually(() => long.sandbox.stats().queued === 1)).toBe(true);
  abort.abort();
  expect(await given).toMatchObject({ aborted: true });
  for (const { sandbox } of [short, long]) expect(sandbox.stats()).toMatchObject({ running: 1, queued: 0 });
  for (const { folder } of [short, long]) await writeFile(`${folder}/go`, "");
  await Promise.all(first);
  for (const { sandbox } of [short, long]) await sandbox.close();
});
