import { chmodSync } from "node:fs";
import Database from "better-sqlite3";
import { describe, expect, test } from "vitest";
import { checkEngine } from "../../../lib/cli/doctor/check-engine.js";
import { checkNode } from "../../../lib/cli/doctor/check-node.js";
import { onEachEngine, shellImage } from "../../engines/engines.js";
import { createStubEngine } from "../../engines/stub-engine.js";
import { openTestKit } from "../../fixtures/kit.js";
import { type CommandLine, commandLine, makeDatabase, runHere, timeout, withoutEngine } from "./command-line.js";

describe("express-skills doctor", { timeout }, () => {
  test("finds nothing to do where all is well, and does not need an engine that no skill needs", async () => {
    const line = lineWithoutEngine();
    const kit = openTestKit({ database: line.file });
    kit.define({ name: "work", schema: { type: "object" }, handler: () => ({}) });
    await kit.ready();
    const { code, stdout } = await line.doctor();
    expect(code).toBe(0);
    expect(stdout).toMatch(/^ok +node +v\d/m);
    expect(stdout).toMatch(/^ok +driver +(better-sqlite3|node:sqlite)/m);
    expect(stdout).toMatch(/^ok +database /m);
    expect(stdout).toMatch(/^ok +skills +1 versions, 1 of them enabled$/m);
    expect(stdout).toMatch(/^note +engine +No container engine answers/m);
    expect(stdout).not.toContain("broken");
  });

  test("says what to do about each fault, exits with 1 and prints the same as JSON", async () => {
    const line = lineWithoutEngine();
    await makeDatabase(line);
    chmodSync(line.file, 0o644);
    const { code, stdout } = await line.doctor("--json", "--image", "alpine:3");
    expect(code).toBe(1);
    const { ok, findings } = JSON.parse(stdout);
    expect(ok).toBe(false);
    expect(findings).toContainEqual({
      subject: "database",
      state: "warning",
      message: "other users of this machine may open it (mode 644)",
      action: `Run \`chmod 600 ${line.file}\`.`,
    });
    expect(findings).toContainEqual(expect.objectContaining({ subject: "engine", state: "broken", action: expect.any(String) }));
    const withoutAction = findings.filter(
      (finding: { state: string; action: unknown }) => finding.state !== "ok" && !finding.action,
    );
    expect(withoutAction).toEqual([]);
  });

  test("looks at a database that is not there without making it, and at one that is damaged", async () => {
    const missing = lineWithoutEngine();
    expect(await missing.doctor()).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/warning +database .*does not exist/),
    });
    expect(await missing.run("list")).toMatchObject({ code: 3 });
    const noFolder = await missing.doctor("--database", "nowhere/skills.db");
    expect(noFolder).toMatchObject({ code: 1, stdout: expect.stringContaining("mkdir -p") });
    missing.write("skills.db", "this is no database ".repeat(100));
    expect(await missing.doctor()).toMatchObject({ code: 1, stdout: expect.stringMatching(/broken +database .*cannot be used/) });
  });

  test("leaves a database of an older version as it is, and says how to bring it up to date", async () => {
    const line = lineWithoutEngine();
    new Database(line.file).exec("create table other (a)").close();
    const stdout = expect.stringMatching(/warning +database .* is of an older version .*\n +Run `express-skills migrate`/);
    expect(await line.doctor()).toMatchObject({ code: 0, stdout });
    const database = new Database(line.file);
    expect(database.prepare("select name from sqlite_master").pluck().all()).toEqual(["other"]);
    database.close();
  });

  test("refuses an engine that it does not know, by the name of the variable", async () => {
    const findings = await checkEngine({ ...process.env, SKILLS_SANDBOX_RUNTIME: "lxc" }, []);
    expect(findings).toMatchObject([{ state: "broken", action: "Correct SKILLS_SANDBOX_RUNTIME: docker or podman." }]);
  });

  test("says which limits an engine ignores, and what to do about it", async () => {
    const limits = 'echo "/sys/fs/cgroup/memory.max:max"; echo "/sys/fs/cgroup/pids.max:16"';
    const { environment } = await createStubEngine({ run: `case "$*" in *grep*) ${limits} ;; esac` });
    const findings = await checkEngine({ ...environment, SKILLS_SANDBOX_RUNTIME: "docker" }, ["any"]);
    expect(findings.at(-1)).toEqual({
      subject: "limits",
      state: "broken",
      message: "the engine ignores: memory, cpu",
      action: expect.stringContaining("allowUnenforcedLimits"),
    });
  });

  test("tells an old Node from one that will do", () => {
    expect(checkNode({ version: "v18.20.0" })[0]).toMatchObject({ state: "broken", action: "Install Node 20.19.0 or later." });
    expect(checkNode({ version: "v26.1.0" })[0]).toMatchObject({ state: "ok" });
  });
});

onEachEngine("doctor", (engine) => {
  test("starts an image that is there, and says of one that is not how to get it", { timeout }, async () => {
    const environment = { ...engine.environment, SKILLS_SANDBOX_RUNTIME: engine.name };
    const findings = await checkEngine(environment, [shellImage, "localhost/express-skills-test/missing:1"]);
    expect(findings[0]).toMatchObject({ subject: "engine", message: expect.stringContaining(engine.name) });
    expect(findings).toContainEqual(expect.objectContaining({ subject: "image", state: "ok" }));
    expect(findings).toContainEqual(
      expect.objectContaining({
        subject: "image",
        state: "broken",
        action: `Run \`${engine.name} pull localhost/express-skills-test/missing:1\`, or build it.`,
      }),
    );
    expect(findings.at(-1)).toMatchObject({ subject: "limits", state: "ok", message: expect.stringContaining("memory") });
  });
});

function lineWithoutEngine(): CommandLine & { doctor(...words: string[]): ReturnType<CommandLine["run"]> } {
  const line = commandLine();
  const environment = withoutEngine(line);
  return { ...line, doctor: (...words) => runHere(["doctor", ...words], environment) };
}
