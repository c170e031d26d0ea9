import { execFile } from "node:child_process";
import { getEventListeners } from "node:events";
import { readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { createSandbox } from "../../../lib/sandbox/sandbox.js";
import { eventually, onEachEngine, ownerHash, shellImage } from "../../engines/engines.js";
import { abortOnceItRuns, createStubEngine } from "../../engines/stub-engine.js";

/** Processes that start, watch or are a container of an owner; the one stream of events that all runs share is not of a run. */
async function processesOf(owner: string): Promise<readonly string[]> {
  const { stdout } = await promisify(execFile)("ps", ["-eo", "args"]);
  return stdout.split("\n").filter((line) => line.includes(ownerHash(owner)) && !line.includes(" events "));
}

/** A soak sets this to 200. */
const aborts = Number(process.env["SKILLS_TEST_ABORTS"] ?? 10);

onEachEngine("ending a run", (engine) => {
  test("a program over its time limit is ended, and its container is gone", async () => {
    const sandbox = engine.sandbox();
    await sandbox.run(shellImage, ["true"]);
    const result = await sandbox.run(shellImage, ["sleep", "300"], {}, { timeoutMs: 1000 });
    expect(result).toMatchObject({ timedOut: true, killed: true, aborted: false, exitCode: null, signal: "SIGKILL" });
    await sandbox.settled();
    expect(await eventually(async () => (await engine.containers()).length === 0)).toBe(true);
  });

  test("a first process that ignores SIGTERM is ended all the same", async () => {
    const result = await engine.shared.run(shellImage, ["sh", "-c", 'trap "" TERM; sleep 300'], {}, { timeoutMs: 1000 });
    expect(result).toMatchObject({ timedOut: true, killed: true, signal: "SIGKILL" });
  });

  test("an abort at any moment leaves no container, process, listener or temp folder", { timeout: 900_000 }, async () => {
    const owner = `aborts ${engine.name} ${process.pid}`;
    const sandbox = engine.sandbox({ owner, maxConcurrent: 4, queueTimeoutMs: 60_000 });
    await sandbox.run(shellImage, ["true"]);
    let left = aborts;
    const lane = async () => {
      while (left-- > 0) {
        const abort = new AbortController();
        setTimeout(() => abort.abort(), 1 + Math.random() * 500);
        const result = await sandbox.run(shellImage, ["sleep", "300"], {}, { signal: abort.signal });
        expect(result).toMatchObject({ aborted: true, timedOut: false });
        expect(getEventListeners(abort.signal, "abort")).toEqual([]);
      }
    };
    await Promise.all([lane(), lane(), lane(), lane()]);
    expect(await eventually(() => sandbox.stats().running === 0)).toBe(true);
    expect(await eventually(async () => (await engine.containers(owner)).length === 0)).toBe(true);
    await sandbox.settled();
    expect(await eventually(async () => (await processesOf(owner)).length === 0)).toBe(true);
    // What is left of this process are the folders of sandboxes that are not closed yet, without any run in them.
    const folders = (await readdir(tmpdir())).filter(
      (name) => name.startsWith("express-skills-run-") && name.includes(`-${process.pid}-`),
    );
    const entries = await Promise.all(folders.map((name) => readdir(join(tmpdir(), name))));
    expect(folders.length).toBeGreaterThan(0);
    expect(new Set(entries.flat())).toEqual(new Set(["hosts"]));
  });

  test("closing ends what still runs, and removes it", async () => {
    const sandbox = engine.sandbox();
    const run = sandbox.run(shellImage, ["sleep", "300"]);
    expect(await eventually(async () => (await engine.containers()).length > 0)).toBe(true);
    await sandbox.close({ graceMs: 0 });
    expect(await run).toMatchObject({ aborted: true });
    expect(await engine.containers()).toEqual([]);
    await expect(sandbox.run(shellImage, ["true"])).rejects.toMatchObject({ code: "SHUTTING_DOWN" });
  });
});

const stubOptions = { runtime: "docker", allowUnenforcedLimits: true, owner: "stub" };

test("a kill that finds no container yet is repeated until it works", async () => {
  // The first two kills come before the container is there; the third one ends the command line program.
  const stub = await createStubEngine({
    run: 'echo $$ > "$FOLDER/pid"; sleep 60 & wait',
    kill: 'n=$(cat "$FOLDER/n" 2>/dev/null || echo 0); n=$((n + 1)); echo $n > "$FOLDER/n"; if [ $n -lt 3 ]; then echo "No such container" >&2; exit 1; fi; kill -9 $(cat "$FOLDER/pid")',
    rm: 'for name; do :; done; if [ -e "$FOLDER/n" ] && [ $(cat "$FOLDER/n") -ge 3 ]; then echo "$name"; else echo "No such container: $name" >&2; exit 1; fi',
  });
  const sandbox = createSandbox({ ...stubOptions, environment: stub.environment });
  const result = await sandbox.run("any", ["x"], {}, { signal: abortOnceItRuns(stub, 100) });
  expect(result.aborted).toBe(true);
  expect(await eventually(async () => (await stub.calls()).filter((call) => call.startsWith("kill")).length >= 3)).toBe(true);
  await sandbox.close({ graceMs: 0 });
});

test("a run settles when every helper command hangs for ever", async () => {
  const stub = await createStubEngine({
    run: "exec sleep 600",
    kill: "exec sleep 600",
    rm: "exec sleep 600",
    inspect: "exec sleep 600",
  });
  const sandbox = createSandbox({ ...stubOptions, environment: stub.environment });
  const result = await sandbox.run("any", ["x"], {}, { signal: abortOnceItRuns(stub, 100) });
  expect(result.aborted).toBe(true);
});

test("a command line program that does not notice its container's end is ended", async () => {
  const stub = await createStubEngine({
    run: 'echo answer; for a; do case "$a" in --name=*) echo "${a#--name=}" > "$FOLDER/name" ;; esac; done; exec sleep 600',
    events:
      'until [ -s "$FOLDER/name" ]; do sleep 0.1; done; n=$(cat "$FOLDER/name"); echo "{\\"status\\":\\"start\\",\\"Actor\\":{\\"Attributes\\":{\\"name\\":\\"$n\\"}}}"; echo "{\\"status\\":\\"die\\",\\"Actor\\":{\\"Attributes\\":{\\"name\\":\\"$n\\",\\"exitCode\\":\\"0\\"}}}"; exec sleep 600',
  });
  const sandbox = createSandbox({ ...stubOptions, environment: stub.environment });
  // The test would not wait as long as the command line program lives, nor as the run may take.
  const result = await sandbox.run("any", ["x"], {}, { timeoutMs: 600_000 });
  expect(result).toMatchObject({ exitCode: 0, stdout: "answer\n", timedOut: false });
  await sandbox.close({ graceMs: 0 });
});

test("our own reason decides when the command line program answers a kill with exit code 0", async () => {
  const stub = await createStubEngine({
    run: 'trap "exit 0" USR1; echo $$ > "$FOLDER/pid"; while :; do sleep 0.05; done',
    kill: 'kill -USR1 $(cat "$FOLDER/pid")',
  });
  const sandbox = createSandbox({ ...stubOptions, environment: stub.environment });
  const result = await sandbox.run("any", ["x"], {}, { signal: abortOnceItRuns(stub, 200) });
  expect(result).toMatchObject({ aborted: true, exitCode: null, stdout: "" });
  await sandbox.close({ graceMs: 0 });
});

test("an engine that restarts in mid-run is an engine error, not the program's exit code", async () => {
  const stub = await createStubEngine({
    run: "echo half; exit 1",
    inspect: "echo 'Cannot connect to the Docker daemon' >&2; exit 1",
  });
  const sandbox = createSandbox({ ...stubOptions, environment: stub.environment });
  await expect(sandbox.run("any", ["x"])).rejects.toMatchObject({ code: "SANDBOX_UNAVAILABLE" });
  const other = await createStubEngine({
    run: "echo half; exit 1",
    inspect: `echo '{"Status":"exited","Running":false,"ExitCode":137,"StartedAt":"2026-01-01T00:00:00Z"}'`,
  });
  const second = createSandbox({ ...stubOptions, environment: other.environment });
  await expect(second.run("any", ["x"])).rejects.toMatchObject({ code: "SANDBOX_UNAVAILABLE" });
  await Promise.all([sandbox.close({ graceMs: 0 }), second.close({ graceMs: 0 })]);
});

test("a container is removed also where the engine gives up silently at one that is missing", async () => {
  // podman 4.3 does: exit code 0, no word, and the names behind the missing one are left.
  const stub = await createStubEngine({
    run: 'for a; do case "$a" in --name=*) n=$(echo "$a" | cut -d= -f2) ;; esac; done; touch "$FOLDER/c-$n"',
    rm: 'shift 4; [ $# -gt 1 ] && exit 0; rm "$FOLDER/c-$1"; echo "$1"',
  });
  const sandbox = createSandbox({ ...stubOptions, environment: stub.environment });
  await Promise.all(Array.from({ length: 5 }, () => sandbox.run("any", ["x"])));
  await sandbox.settled();
  expect((await readdir(stub.folder)).filter((name) => name.startsWith("c-"))).toEqual([]);
  await sandbox.close();
});

test("several containers are removed by one command, by force, with their volumes, and none is stopped politely", async () => {
  const stub = await createStubEngine();
  const sandbox = createSandbox({ ...stubOptions, environment: stub.environment });
  await Promise.all(Array.from({ length: 6 }, () => sandbox.run("any", ["x"])));
  await sandbox.settled();
  const calls = await stub.calls();
  const removals = calls.filter((call) => call.startsWith("rm "));
  expect(removals.length).toBeLessThan(6);
  expect(removals.every((call) => call.startsWith("rm --force --volumes -- express-skills-"))).toBe(true);
  expect(removals.join(" ").match(/express-skills-/g)).toHaveLength(6);
  expect(calls.some((call) => call.startsWith("stop"))).toBe(false);
  await sandbox.close();
});
