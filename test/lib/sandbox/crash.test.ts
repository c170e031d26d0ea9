import { execFile } from "node:child_process";
import { once } from "node:events";
import { readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { createInstance, isInstanceDead, nextContainerName, parseContainerName } from "../../../lib/sandbox/instance.js";
import { eventually, onEachEngine, ownerHash, shellImage } from "../../engines/engines.js";
import { startServer } from "./children/start-server.js";

onEachEngine("after a crash", (engine) => {
  test("the next start removes what the killed server left, and nothing else", { timeout: 90_000 }, async () => {
    const owner = `crash ${engine.name} ${process.pid}`;
    const hash = ownerHash(owner);
    const other = `express-skills-stranger-${process.pid}-${engine.name}`;
    await engine.cli(
      "run",
      "-d",
      "--network=none",
      "--name",
      other,
      "--label",
      `express-skills.owner=${hash}`,
      shellImage,
      "sleep",
      "600",
    );
    onTestFinished(async () => {
      await engine.cli("rm", "-f", other);
    });
    const neighbour = engine.sandbox({ owner });
    const alive = neighbour.run(shellImage, ["sleep", "600"], {}, { timeoutMs: 600_000 });

    const server = startServer(engine.environment, engine.name, owner, shellImage);
    if (server.stdout !== null) await once(server.stdout, "data");
    const own = async () =>
      (await engine.cli("ps", "-a", "--format", "{{.Names}}"))
        .split("\n")
        .filter((name) => name.startsWith(`express-skills-${hash}-`));
    const ofServer = async () => (await own()).filter((name) => name.includes(`-${server.pid}-`));
    const folders = async () =>
      (await readdir(tmpdir())).filter(
        (name) => name.startsWith(`express-skills-run-${hash}-`) && name.includes(`-${server.pid}-`),
      );
    expect((await ofServer()).length).toBeGreaterThanOrEqual(3);
    expect(await folders()).toHaveLength(1);
    server.kill("SIGKILL");
    await once(server, "exit");
    expect((await ofServer()).length).toBeGreaterThanOrEqual(3);

    const restarted = engine.sandbox({ owner });
    expect(await restarted.sweep()).toBeGreaterThanOrEqual(3);
    await restarted.settled();
    expect(await eventually(async () => (await ofServer()).length === 0)).toBe(true);
    expect(await folders()).toEqual([]);
    // Command line programs of the killed server end with their containers, or when they next have something to say to it.
    const orphans = async () =>
      (await promisify(execFile)("ps", ["-eo", "ppid,args"])).stdout
        .split("\n")
        .filter(
          (line) =>
            line.includes(hash) &&
            !line.trim().startsWith(`${process.pid} `) &&
            / (events|run) /.test(line) &&
            !line.includes("conmon"),
        );
    expect(await eventually(async () => (await orphans()).length === 0)).toBe(true);
    const left = await engine.cli("ps", "--format", "{{.Names}}");
    expect(left).toContain(other);
    expect((await own()).filter((name) => name.includes(`-${process.pid}-`)).length).toBeGreaterThanOrEqual(1);
    await neighbour.close({ graceMs: 0 });
    await alive;
  });
});

test("a name tells owner, process and deadline, and only whole names do", () => {
  const instance = createInstance("app");
  const name = nextContainerName(instance, 1_800_000_000_500);
  expect(parseContainerName(name)).toEqual({
    owner: instance.owner,
    host: instance.host,
    pid: process.pid,
    started: instance.started,
    random: instance.random,
    deadlineS: 1_800_000_001,
  });
  expect(nextContainerName(instance, 1_800_000_000_500)).not.toBe(name);
  for (const foreign of [`x${name}`, `${name}x-`, `${name}\n`, "express-skills-1", name.toUpperCase()])
    expect(parseContainerName(foreign)).toBeNull();
});

test("a process is dead when it is gone, or when its number belongs to a later one", () => {
  const instance = createInstance("app");
  expect(isInstanceDead(instance, instance)).toBe(false);
  expect(isInstanceDead({ ...instance, started: "1" }, instance)).toBe(true);
  expect(isInstanceDead({ ...instance, pid: 4_194_303 }, instance)).toBe(true);
  // Of another machine nothing is known but the deadline.
  expect(isInstanceDead({ ...instance, host: "00000000", pid: 4_194_303 }, instance)).toBe(false);
});
