import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createSandbox } from "../../../lib/sandbox/sandbox.js";
import { createStubEngine, type StubCommands } from "../../engines/stub-engine.js";

const podmanVersion = (version: string) => `echo '{"Client":{"Version":"${version}","OsArch":"linux/amd64"}}'`;

async function onStub(commands: StubCommands, name: "docker" | "podman", environment: NodeJS.ProcessEnv = {}) {
  const stub = await createStubEngine({ ...(name === "podman" && { version: podmanVersion("5.2.0") }), ...commands }, name);
  const sandbox = createSandbox({
    runtime: name,
    allowUnenforcedLimits: true,
    owner: "stub",
    environment: { ...stub.environment, ...environment },
  });
  return { ...stub, sandbox };
}

test.each(["docker", "podman"] as const)(
  "on %s every protection is stated, whatever the engine's defaults are, and no output is written to a disk",
  async (name) => {
    const { sandbox, calls } = await onStub({}, name);
    await sandbox.run("any", ["x"], {}, { runtime: "runsc" });
    const args = (await calls()).find((call) => call.startsWith("run "))?.split(" ");
    const stated = [
      ...["--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges", "--network=none", "--user=65534:65534"],
      ...["--cpus=1", "--memory=256m", "--memory-swap=256m", "--pids-limit=128", "--shm-size=64m"],
      ...["--ipc=private", "--cgroupns=private", "--log-driver=none", "--pull=never", "--runtime=runsc"],
    ];
    expect(args).toEqual(expect.arrayContaining(stated));
    await sandbox.close();
  },
);

test("podman 5 tells a memory kill by inspect alone: it leaves no file behind", async () => {
  const state = (isOom: boolean) =>
    `echo '{"Status":"exited","Running":false,"OOMKilled":${isOom},"ExitCode":137,"StartedAt":"2026-01-01T00:00:00Z"}'`;
  const killed = { exitCode: null, signal: "SIGKILL", killed: false };
  for (const oomKilled of [true, false]) {
    const { sandbox } = await onStub({ run: "echo begun; exit 137", inspect: state(oomKilled) }, "podman");
    expect(await sandbox.run("any", ["x"])).toMatchObject({ ...killed, oomKilled, stdout: "begun\n" });
    await sandbox.close();
  }
});

test.each([
  [
    "docker",
    "OCI runtime create failed: runc create failed: unable to start container process: error during container init: error setting cgroup config for procHooks process: openat2 /sys/fs/cgroup/docker/x/cpu.max: no such file or directory: unknown",
    /cgroups.*documentation/,
  ],
  ["podman", "OCI runtime error: crun: the requested cgroup controller `pids` is not available", /Delegate/],
  ["podman", "crun: controller `memory` is not available under /sys/fs/cgroup/user.slice/cgroup.controllers", /Delegate/],
  [
    "docker",
    "failed to create shim task: OCI runtime create failed: seccomp: config provided but seccomp not supported",
    /seccomp/,
  ],
  ["docker", "unable to start container process: can't get final child's PID from pipe: EOF: unknown", /kernel/],
  ["podman", "crun: clone: Operation not permitted", /kernel/],
  ["docker", "error setting rlimits for ready process: error setting rlimit type 7: operation not permitted", /default_ulimits/],
  [
    "podman",
    "rootless containers need entries in /etc/subuid: there might not be enough IDs available in the namespace",
    /usermod/,
  ],
] as const)("on %s the known message of an old or closed machine comes with its cure: %s", async (name, message, cure) => {
  const { sandbox } = await onStub(
    {
      run: `cat >&2 <<'END'\nError: ${message}\nEND\nexit 126`,
      inspect: `echo '{"Status":"created","Running":false,"ExitCode":126,"StartedAt":"0001-01-01T00:00:00Z"}'`,
    },
    name,
  );
  await expect(sandbox.run("any", ["x"])).rejects.toMatchObject({ code: "START_FAILED", message: expect.stringMatching(cure) });
  await sandbox.close();
});

test.each([
  ["podman", true],
  ["docker", false],
] as const)(
  "the server's proxies lead %s to its images: %s, and never reach a command that starts a container",
  async (name, isLed) => {
    const { sandbox, folder } = await onStub(
      {
        image: `if [ -e "$FOLDER/pulled" ]; then echo '{"Id":"sha256:${"b".repeat(64)}"}'; else echo "no such image" >&2; exit 1; fi`,
        pull: 'env > "$FOLDER/pulled"',
        run: 'env > "$FOLDER/ran"; echo up',
      },
      name,
      { HTTPS_PROXY: "http://user:pass@proxy.invalid:1", no_proxy: "local.invalid", OTHER_SECRET: "proxy.invalid" },
    );
    expect((await sandbox.run("any", ["x"])).stdout).toBe("up\n");
    const pulled = await readFile(join(folder, "pulled"), "utf8");
    expect(pulled.includes("HTTPS_PROXY=http://user:pass@proxy.invalid:1")).toBe(isLed);
    expect(pulled.includes("no_proxy=local.invalid")).toBe(isLed);
    expect(pulled).not.toContain("OTHER_SECRET");
    expect(await readFile(join(folder, "ran"), "utf8")).not.toContain(".invalid");
    await sandbox.close();
  },
);
