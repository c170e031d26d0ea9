import { expect, test } from "vitest";
import { createSandbox } from "../../../lib/sandbox/sandbox.js";
import { onEachEngine, shellImage } from "../../engines/engines.js";
import { createStubEngine } from "../../engines/stub-engine.js";

onEachEngine("how a run ended", (engine) => {
  test.each([1, 3, 125, 126, 127, 128, 143, 255])("a program's own exit code %i is reported as it is", async (code) => {
    const result = await engine.shared.run(shellImage, ["sh", "-c", `exit ${code}`]);
    expect(result).toMatchObject({ exitCode: code, signal: null, killed: false, oomKilled: false });
  });

  test("a command that does not exist, or is no program, is not an exit code", async () => {
    const sandbox = engine.shared;
    for (const command of ["/nope", "nope", "/etc"]) {
      await expect(sandbox.run(shellImage, [command])).rejects.toMatchObject({ code: "COMMAND_NOT_FOUND" });
    }
  });

  test("a program that exceeds its memory is told from one that was killed", async () => {
    const sandbox = engine.shared;
    const fill = ["sh", "-c", "x=a; while true; do x=$x$x; done"];
    expect(await sandbox.run(shellImage, fill, {}, { memoryMb: 32 })).toMatchObject({
      oomKilled: true,
      killed: false,
      exitCode: null,
      signal: "SIGKILL",
    });
    const suicide = await sandbox.run(shellImage, ["sh", "-c", "(kill -9 $$) & wait; exit 137"]);
    expect(suicide).toMatchObject({ oomKilled: false, killed: false });
  });

  test("the tmpfs counts as memory and is bounded by itself", async () => {
    const result = await engine
      .sandbox()
      .run(shellImage, ["sh", "-c", "head -c 20000000 /dev/zero > /tmp/big; echo $?"], {}, { tmpfsMb: 4 });
    expect(result.stdout).toBe("1\n");
  });

  test("the start is not the program's time", async () => {
    const begunAtMs = performance.now();
    const result = await engine.shared.run(shellImage, ["sleep", "2"]);
    const tookMs = performance.now() - begunAtMs;
    expect(result).toMatchObject({ exitCode: 0, timedOut: false });
    expect(result.startupMs).toBeGreaterThan(0);
    expect(result.durationMs).toBeGreaterThan(0);
    expect(result.durationMs + (result.startupMs ?? 0)).toBeLessThanOrEqual(tookMs);
  });

  test("a container that does not start in time is an error of the start", async () => {
    const run = engine.shared.run(shellImage, ["sleep", "5"], {}, { startTimeoutMs: 20 });
    await expect(run).rejects.toMatchObject({ code: "START_FAILED" });
  });

  test("more processors than the engine has are refused", async () => {
    await expect(engine.shared.run(shellImage, ["true"], {}, { cpus: 4000 })).rejects.toMatchObject({
      code: "INVALID_OPTION",
    });
  });

  test("a runtime that the engine does not have is an error of the start", async () => {
    await expect(engine.shared.run(shellImage, ["true"], {}, { runtime: "runsc-not-there" })).rejects.toMatchObject({
      code: "START_FAILED",
    });
  });

  test("flags of the operator reach the engine", async () => {
    const { stdout } = await engine.shared.run(shellImage, ["hostname"], {}, { engineArgs: ["--hostname=other"] });
    expect(stdout).toBe("other\n");
  });
});

test.each([
  { cpus: 0 },
  { cpus: -1 },
  { cpus: Number.NaN },
  { cpus: Number.POSITIVE_INFINITY },
  { memoryMb: 0 },
  { memoryMb: 1.5 },
  { memoryMb: "256m" },
  { timeoutMs: 0 },
  { timeoutMs: 2 ** 31 },
  { startTimeoutMs: -5 },
  { pidsLimit: 0 },
  { pidsLimit: -1 },
  { tmpfsMb: 0 },
  { maxOutputBytes: 0 },
  { network: "host" },
  { network: "container:other" },
  { network: "--net" },
  { user: "root" },
  { user: "0:0:0" },
  { workdir: "relative" },
  { workdir: "/a/../b" },
  { workdir: "/a:b" },
  { pull: "sometimes" },
  { runtime: "--privileged" },
  { engineArgs: ["image"] },
  { engineArgs: ["--"] },
  { stdin: 5 },
  { memory: 5 },
])("the limits %j are refused and nothing is started", async (config) => {
  const stub = await createStubEngine();
  const sandbox = createSandbox({ runtime: "docker", environment: stub.environment });
  await expect(sandbox.run("any", ["x"], {}, config as never)).rejects.toMatchObject({
    code: "INVALID_OPTION",
    faults: [{ pointer: `/${Object.keys(config)[0]}` }],
  });
  expect(await stub.calls()).toEqual([]);
});

test("durations come from our own clock", async () => {
  const stub = await createStubEngine({
    run: "echo x; sleep 0.3; exit 3",
    inspect: `echo '{"Status":"exited","Running":false,"ExitCode":3,"StartedAt":"2001-01-01T00:00:00Z","FinishedAt":"2031-01-01T00:00:00Z"}'`,
  });
  const sandbox = createSandbox({ runtime: "docker", allowUnenforcedLimits: true, owner: "stub", environment: stub.environment });
  const begunAtMs = performance.now();
  const result = await sandbox.run("any", ["x"]);
  expect(result.exitCode).toBe(3);
  // The engine's times would make it thirty years.
  expect(result.durationMs).toBeGreaterThan(0);
  expect(result.durationMs).toBeLessThanOrEqual(performance.now() - begunAtMs);
  await sandbox.close();
});
