import { existsSync } from "node:fs";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { SkillError } from "../../../lib/errors.js";
import type { ContainerSpec, SandboxConfig } from "../../../lib/types.js";
import { openEngineKit } from "../../engines/engine-kit.js";
import { eventually, onEachEngine, ownerHash, shellImage } from "../../engines/engines.js";
import { createStubEngine, createStubSandbox } from "../../engines/stub-engine.js";

const call = { owner: "system", timeoutMs: 10_000 };
const missingImage = 'echo "Error: No such image: $6" >&2; exit 1';

onEachEngine("the temp folder", (engine) => {
  test("serves programs of every user though the server's umask is strict", async () => {
    const sandbox = engine.sandbox({ owner: `umask ${engine.name} ${process.pid}` });
    const before = process.umask(0o077);
    onTestFinished(() => void process.umask(before));
    const files = { "a.txt": "a", "lib/b.txt": "b" };
    const command = ["sh", "-c", "cat a.txt lib/b.txt && cat /etc/hosts"];
    const { stdout, stderr } = await sandbox.run(shellImage, command, {}, { files });
    expect(stderr).toBe("");
    expect(stdout).toMatch(/^ab127\.0\.0\.1\s+localhost/);
    await sandbox.close();
  });

  test("is made again when the machine's cleaning of temp folders took it", async () => {
    const owner = `cleaned ${engine.name} ${process.pid}`;
    const sandbox = engine.sandbox({ owner });
    await sandbox.run(shellImage, ["true"]);
    await sandbox.settled();
    const [folder = ""] = (await readdir(tmpdir())).filter((name) => name.startsWith(`express-skills-run-${ownerHash(owner)}-`));
    await rm(join(tmpdir(), folder), { recursive: true });
    const { stdout } = await sandbox.run(shellImage, ["cat", "/etc/hosts", "a"], {}, { files: { a: "mine" } });
    expect(stdout).toMatch(/localhost[\s\S]*mine$/);
    await sandbox.close();
    expect(existsSync(join(tmpdir(), folder))).toBe(false);
  });
});

test("a temp folder that cannot be made is an error of the start, and the next run tries again", async () => {
  const { sandbox } = await createStubSandbox({});
  const before = process.env["TMPDIR"];
  process.env["TMPDIR"] = "/nowhere/at/all";
  onTestFinished(() => {
    if (before === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = before;
  });
  await expect(sandbox.run("any", ["x"])).rejects.toMatchObject({
    code: "START_FAILED",
    message: expect.stringMatching(/nowhere/),
  });
  const folder = await mkdtemp("/tmp/express-skills-tmpdir-");
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  process.env["TMPDIR"] = folder;
  expect((await sandbox.run("any", ["x"])).stdout).toBe("hello\n");
  await sandbox.close();
  expect(await readdir(folder)).toEqual([]);
});

test("what the caller changes after the call changes nothing of it", async () => {
  const { sandbox, calls } = await createStubSandbox({});
  const files: Record<string, string> = { a: "1" };
  const config: SandboxConfig = { files };
  const run = sandbox.run("any", ["x"], {}, config);
  files["../../../../tmp/express-skills-escaped"] = "evil";
  Object.assign(config, { files: { "../escaped": "evil" }, stdin: "evil" });
  await run;
  const args = (await calls()).find((line) => line.startsWith("run")) ?? "";
  expect(args.match(/--volume=/g)).toHaveLength(1);
  expect(args).not.toContain("escaped");
  await sandbox.close();
});

const secret = "s3cret-of-the-server";
const withSecret: ContainerSpec = { image: "any", command: ["x"], env: { TOKEN: { fromEnv: "TOKEN" } } };

test.each([
  ["printed where JSON must be", 'printf "no: %s" "$TOKEN"'],
  ["printed before a failure", 'echo "$TOKEN" >&2; exit 3'],
  ["cut by the output limit", 'printf "%s%s" xxxxxxxxxx "$TOKEN" >&2; sleep 60'],
])("a variable of the server that the program %s is not in the error, nor in the log", async (_what, run) => {
  const stub = await createStubSandbox(
    {
      run: `echo $$ > "$FOLDER/pid"; ${run}`,
      kill: 'kill -9 $(cat "$FOLDER/pid")',
      inspect: `echo '{"Status":"exited","ExitCode":3,"StartedAt":"2026-01-01T00:00:00Z"}'`,
    },
    { allowEnv: ["TOKEN"] },
  );
  stub.environment["TOKEN"] = secret;
  const reply = await stub.sandbox.serve({ ...withSecret, maxOutputBytes: 26 }, 1, call);
  expect(reply.error).not.toBeNull();
  for (const text of [reply.error?.message, reply.result.stderr]) expect(text).not.toMatch(/s3cret/);
  await stub.sandbox.close({ graceMs: 0 });
});

test("variables are hidden as the program got them, and the longer one first", async () => {
  const stub = await createStubSandbox(
    { run: 'echo "$A and $B" >&2; until [ -e "$FOLDER/changed" ]; do sleep 0.05; done' },
    { allowEnv: ["A", "B"] },
  );
  Object.assign(stub.environment, { A: "abcd", B: "abcd-and-more" });
  const spec: ContainerSpec = { ...withSecret, env: { A: { fromEnv: "A" }, B: { fromEnv: "B" } }, output: "text" };
  const reply = stub.sandbox.serve(spec, 1, call);
  expect(await eventually(async () => (await stub.calls()).some((line) => line.startsWith("run")))).toBe(true);
  // Changed while it runs.
  Object.assign(stub.environment, { A: "efgh", B: undefined });
  await writeFile(join(stub.folder, "changed"), "");
  expect((await reply).result.stderr).toBe("[redacted] and [redacted]\n");
  await stub.sandbox.close();
});

test("an allow-list of image ids lets nobody make the server fetch an image", async () => {
  const { sandbox, calls } = await createStubSandbox({ image: missingImage }, { images: [`sha256:${"a".repeat(64)}`] });
  await expect(sandbox.run("169.254.169.254/x/y:1", ["x"])).rejects.toMatchObject({ code: "IMAGE_NOT_ALLOWED" });
  expect((await calls()).some((line) => line.startsWith("pull"))).toBe(false);
  const local = await createStubSandbox({}, { images: [`sha256:${"a".repeat(64)}`] });
  expect((await local.sandbox.run("any", ["x"])).exitCode).toBe(0);
  await Promise.all([sandbox.close(), local.sandbox.close()]);
});

test("a caller who gives up gets the same answer in every phase, whatever its reason", async () => {
  const reason = new SkillError("SANDBOX_UNAVAILABLE", "mine");
  const { sandbox, calls } = await createStubSandbox(
    {
      run: 'echo $$ > "$FOLDER/pid"; exec sleep 600',
      kill: 'kill -9 $(cat "$FOLDER/pid")',
      image: `case "$*" in *slow*) ${missingImage} ;; esac; echo '{"Id":"sha256:${"a".repeat(64)}"}'`,
      pull: "exec sleep 600",
      network: "exec sleep 600",
    },
    { maxConcurrent: 1, queueTimeoutMs: 600_000, defaults: { timeoutMs: 600_000 } },
  );
  const isCalled = async (command: string) => (await calls()).some((line) => line.startsWith(command));
  // Whoever does not give up at once is waited for longer than the test may take.
  const givingUpWhen = async (isThere: () => boolean | Promise<boolean>, image = "any", config: SandboxConfig = {}) => {
    const abort = new AbortController();
    const result = sandbox.run(image, ["x"], {}, { ...config, signal: abort.signal });
    expect(await eventually(isThere)).toBe(true);
    abort.abort(reason);
    return await result;
  };
  const before = new AbortController();
  before.abort(reason);
  expect(await sandbox.run("any", ["x"], {}, { signal: before.signal })).toMatchObject({ aborted: true });
  expect(await givingUpWhen(() => isCalled("pull"), "slow")).toMatchObject({ aborted: true });
  expect(await givingUpWhen(() => isCalled("network"), "any", { network: "internal" })).toMatchObject({ aborted: true });
  expect(await isCalled("run")).toBe(false);
  let isOver = false;
  const running = givingUpWhen(() => isOver);
  expect(await eventually(() => isCalled("run"))).toBe(true);
  expect(await givingUpWhen(() => sandbox.stats().queued === 1)).toMatchObject({ aborted: true, runtime: "docker" });
  isOver = true;
  expect(await running).toMatchObject({ aborted: true });
  await sandbox.close({ graceMs: 0 });
});

test("closing ends a preparation that still fetches its image, and no container comes afterwards", async () => {
  const { sandbox, calls, folder } = await createStubSandbox(
    {
      image: `if [ -e "$FOLDER/there" ]; then echo '{"Id":"sha256:${"b".repeat(64)}"}'; else ${missingImage}; fi`,
      pull: 'until [ -e "$FOLDER/go" ]; do sleep 0.05; done; touch "$FOLDER/there"',
    },
    { allowUnenforcedLimits: false },
  );
  const preparing = sandbox.prepare({ image: "any", command: ["x"], warm: 1 }, "system").catch((error: unknown) => error);
  expect(await eventually(async () => (await calls()).some((line) => line.startsWith("pull")))).toBe(true);
  await sandbox.close({ graceMs: 0 });
  await preparing;
  await writeFile(join(folder, "go"), "");
  await sleep(1500);
  expect((await calls()).filter((line) => line.startsWith("run"))).toEqual([]);
});

test("a stream of events that ends at once is not opened again without a pause", async () => {
  const { sandbox, calls } = await createStubSandbox({ run: "sleep 2; echo done", events: "exit 1" });
  const begunAtMs = performance.now();
  expect((await sandbox.run("any", ["x"])).stdout).toBe("done\n");
  const pauses = Math.ceil((performance.now() - begunAtMs) / 500);
  expect((await calls()).filter((line) => line.startsWith("events")).length).toBeLessThanOrEqual(1 + pauses);
  await sandbox.close();
});

test("an internal network that was removed is made again", async () => {
  const { sandbox, calls } = await createStubSandbox({
    network: `case "$2" in inspect) [ -e "$FOLDER/net" ] && echo '{"internal":true}' ;; create) touch "$FOLDER/net" ;; esac`,
    run: '[ -e "$FOLDER/net" ] || { echo "network express-skills-internal not found" >&2; exit 125; }; rm "$FOLDER/net"; echo up',
    inspect: 'echo "no such container" >&2; exit 1',
  });
  const run = () => sandbox.run("any", ["x"], {}, { network: "internal" });
  expect((await run()).stdout).toBe("up\n");
  await run().catch(() => {});
  expect((await run()).stdout).toBe("up\n");
  expect((await calls()).filter((line) => line.startsWith("network create")).length).toBeGreaterThanOrEqual(2);
  await sandbox.close();
});

test("processors are stated with as many digits as engines take", async () => {
  const { sandbox, calls } = await createStubSandbox({});
  await sandbox.run("any", ["x"], {}, { cpus: 1 / 3 });
  expect((await calls()).find((line) => line.startsWith("run"))).toContain("--cpus=0.333 ");
  await sandbox.close();
});

test.each([
  "--name=mine",
  "--detach",
  "--detach=true",
  "-d",
  "-itd",
  "--rm",
  "--restart=always",
  "--replace",
  "--cidfile=/tmp/x",
  "--pidfile=/tmp/x",
  "--tty",
  "-t",
  "-a=stdout",
  "--label=express-skills.owner=other",
  "--pull=always",
])("the engine's flag %s is refused: the run could not be followed or ended", async (flag) => {
  const { sandbox, calls } = await createStubSandbox({});
  await expect(sandbox.run("any", ["x"], {}, { engineArgs: [flag] })).rejects.toMatchObject({
    code: "INVALID_OPTION",
    faults: [{ pointer: "/engineArgs" }],
  });
  expect(await calls()).toEqual([]);
});

test("skills that are alike do not share slots: ending one's leaves the other's", async () => {
  const { sandbox } = await createStubSandbox({
    run: 'for a; do case "$a" in --name=*) n="${a#--name=}" ;; esac; done; echo $$ > "$FOLDER/$n"; read -r line; echo "$line"',
    kill: 'kill -9 $(cat "$FOLDER/$3")',
    inspect: `echo '{"Status":"running","Running":true,"StartedAt":"2026-01-01T00:00:00Z"}'`,
  });
  const spec: ContainerSpec = { image: "any", command: ["x"], warm: 1 };
  await sandbox.prepare(spec, "system", "one");
  await sandbox.prepare({ ...spec, warm: 2 }, "system", "two");
  expect(await eventually(() => sandbox.stats().slots.waiting === 3)).toBe(true);
  sandbox.drainSkill("one");
  expect(sandbox.stats().slots.waiting).toBe(2);
  await sandbox.close({ graceMs: 0 });
});

test.each([
  ["memory", "MemoryLimit"],
  ["cpu", "CpuCfsQuota"],
  ["pids", "PidsLimit"],
])("an engine that says itself that it cannot limit %s is refused, whatever an image pretends", async (limit, key) => {
  const lies = ["memory.max:1", "memory.swap.max:1", "cpu.max:1 1", "pids.max:1"].map((line) => `echo /sys/fs/cgroup/${line}`);
  for (const run of ["echo hello", lies.join("; ")]) {
    const { sandbox } = await createStubSandbox(
      { info: `echo '{"NCPU":4,"${key}":false}'`, run },
      { allowUnenforcedLimits: false },
    );
    await expect(sandbox.run("any", ["x"])).rejects.toMatchObject({
      code: "SANDBOX_UNAVAILABLE",
      message: expect.stringContaining(limit),
    });
    await sandbox.close();
  }
});

test("an answer nested too deep for the server ends in an error", async () => {
  const nested = (bracket: string) => `head -c 200000 /dev/zero | tr '\\0' '${bracket}'`;
  const stub = await createStubEngine({ run: `${nested("[")}; ${nested("]")}` });
  const kit = openEngineKit({ name: "docker", environment: stub.environment }, { allowUnenforcedLimits: true });
  await kit.registry.register({ name: "deep", schema: { type: "object" }, container: { image: "any", command: ["x"] } });
  expect(await kit.executor.execute("deep", {})).toMatchObject({ status: "ERROR", errorCode: "INVALID_OUTPUT" });
});
