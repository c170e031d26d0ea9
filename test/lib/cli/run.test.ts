import { describe, expect, test } from "vitest";
import { onEachEngine, shellImage } from "../../engines/engines.js";
import { type CommandLine, commandLine, handlers, makeDatabase, timeout } from "./command-line.js";

describe("express-skills run", { timeout }, () => {
  test("prints the output as JSON, and what the handler logs and how far it is on the standard error", async () => {
    const line = await withHandlers();
    const { code, stdout, stderr } = await line.run("run", "count@^1", "--require", "./handlers.mjs", "--input", '{"n":2}');
    expect(JSON.parse(stdout)).toEqual({ n: 2 });
    expect(stderr).toContain("50% step 1\n");
    expect(stderr).toContain("count@1.2.0: counted n=2\n");
    expect(code).toBe(0);
  });

  test("takes the input from a file or from the standard input, and with --json prints the whole execution", async () => {
    const line = await withHandlers();
    line.write("input.json", { n: 7 });
    const fromFile = await line.run("run", "count", "--require", "handlers.mjs", "--quiet", "--input", "@input.json");
    expect(fromFile).toMatchObject({ code: 0, stderr: "" });
    expect(JSON.parse(fromFile.stdout)).toEqual({ n: 7 });
    const { child, ended } = line.start(["run", "count", "--require", "handlers.mjs", "--json", "--owner", "k1", "--input", "-"]);
    child.stdin.end('{"n":8}');
    expect(JSON.parse((await ended).stdout)).toMatchObject({ status: "SUCCESS", apiKeyId: "k1", output: { n: 8 } });
  });

  test("exits with 1 when the skill fails, and says why in one line, without a stack", async () => {
    const line = await withHandlers();
    const { code, stdout, stderr } = await line.run("run", "fails", "--require", "handlers.mjs");
    expect(code).toBe(1);
    expect(stdout).toBe("");
    expect(stderr).toMatch(
      /^express-skills: fails@1\.0\.0 ended as ERROR \(SKILL_FAILED\): no such \\u001b\[31mthing\. See `express-skills executions [0-9a-f-]+`\.\n$/,
    );
  });

  test("exits with 124 at the time limit", async () => {
    const line = await withHandlers();
    const { code, stderr } = await line.run("run", "waits", "--require", "handlers.mjs", "--timeout", "50");
    expect(code).toBe(124);
    expect(stderr).toContain("TIMEOUT");
  });

  test.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const)("ends the call on %s, with a row that says so, and exits with %i", async (signal, code) => {
    const line = await withHandlers();
    const running = line.start(["run", "waits", "--require", "handlers.mjs"]);
    await running.printed("waiting");
    running.child.kill(signal);
    expect((await running.ended).code).toBe(code);
    const { stdout } = await line.run("executions", "--json");
    expect(JSON.parse(stdout)).toMatchObject([{ skillName: "waits", status: "CANCELLED" }]);
  });

  test.each([
    [["count", "--input", '{"n":"x"}'], 2, "/n must be integer"],
    [["count", "--input", "{n"], 2, "--input is not JSON"],
    [["count", "--input", "@missing.json"], 2, "missing.json cannot be read: there is no such file"],
    [["missing"], 4, "There is no skill missing. See what there is with `express-skills list`."],
    [["count@^9"], 4, "count"],
    [["@@"], 2, "@@"],
    [["count", "--timeout", "0"], 2, "--timeout"],
    [["count", "--require", "./nothing.mjs"], 2, "--require ./nothing.mjs cannot be loaded"],
    [["count", "--require", "./input.json"], 2, "--require ./input.json"],
  ])("says what is wrong with %j", async (words, code, message) => {
    const line = await withHandlers();
    line.write("input.json", {});
    const ended = await line.run("run", "--require", "handlers.mjs", ...words);
    expect(ended.stderr).toContain(message);
    expect(ended.stderr).not.toMatch(/\n\s+at /);
    expect(ended).toMatchObject({ code, stdout: "" });
  });

  test("says how to load a handler that is not there, and with --json as JSON", async () => {
    const line = await withHandlers();
    await line.run("run", "count", "--require", "handlers.mjs");
    const text = await line.run("run", "count");
    expect(text.stderr).toContain("Load it with --require MODULE.");
    const json = await line.run("run", "count", "--json");
    expect(json).toMatchObject({ code: 4, stdout: "" });
    expect(JSON.parse(json.stderr)).toMatchObject({ error: { code: "HANDLER_NOT_FOUND" } });
  });
});

async function withHandlers(): Promise<CommandLine> {
  const line = commandLine();
  line.write("handlers.mjs", handlers);
  await makeDatabase(line);
  return line;
}

onEachEngine("express-skills run of a container skill", (engine) => {
  test("shows its standard error while it runs, and keeps it with its facts", { timeout: 180_000 }, async () => {
    const line = commandLine();
    const environment = { ...engine.environment, SKILLS_SANDBOX_RUNTIME: engine.name };
    const start = (...words: string[]) => {
      const running = line.start(words, environment);
      running.child.stdin.end();
      return running.ended;
    };
    const command = ["sh", "-c", "cat; echo working >&2; printf '\\033[2Jdone' >&2"];
    // Nothing is started ahead by a command that is over at once.
    line.write("skill.json", { name: "shout", schema: { type: "object" }, container: { image: shellImage, command, warm: 3 } });
    expect(await start("register", "skill.json")).toMatchObject({ code: 0, stderr: "" });
    const run = await start("run", "shout", "--input", '{"a":1}');
    expect(JSON.parse(run.stdout)).toEqual({ a: 1 });
    expect(run.stderr).toBe("shout@1.0.0: working\nshout@1.0.0: \\u001b[2Jdone\n");
    const [{ id }] = JSON.parse((await start("executions", "--json")).stdout);
    const { stdout } = await start("executions", id);
    expect(stdout).toContain(`container ${shellImage} in ${engine.name}, cold, exit code 0`);
    expect(stdout).toContain("standard error\nworking\n");
  });
});
