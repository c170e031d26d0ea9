import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { describe, expect, test } from "vitest";
import { exitCodeOfError, exitCodeOfStatus, exitCodes } from "../../../lib/cli/exit-codes.js";
import { createProgram } from "../../../lib/cli/program.js";
import { createTerminal } from "../../../lib/cli/terminal.js";
import { errorTable, SkillError, type SkillErrorCode } from "../../../lib/index.js";
import { openTestKit } from "../../fixtures/kit.js";
import { bin, commandLine, makeDatabase, timeout } from "./command-line.js";

const commands = [
  "doctor",
  "list",
  "register",
  "run",
  "executions",
  "enable",
  "disable",
  "prune",
  "migrate",
  "worker",
  "dashboard",
];

describe("the program", { timeout }, () => {
  test("prints its help with every command and every exit code", async () => {
    const { code, stdout } = await commandLine().run("--help");
    expect(code).toBe(0);
    for (const command of commands) expect(stdout).toContain(`\n  ${command} `);
    for (const [exitCode, meaning] of Object.values(exitCodes)) expect(stdout).toContain(`${exitCode}  ${meaning}`);
  });

  test("has examples in the help of every command, and the options that all commands take", () => {
    const terminal = createTerminal(process, process.env);
    const context = { terminal, stdin: process.stdin, environment: {}, signal: new AbortController().signal };
    const program = createProgram(context, () => {});
    expect(program.commands.map((command) => command.name())).toEqual(commands);
    for (const command of program.commands) {
      let help = "";
      command.configureOutput({
        writeOut: (text) => {
          help += text;
        },
      });
      command.outputHelp();
      expect(help).toContain(`Examples:\n  $ express-skills ${command.name()}`);
      expect(help).toContain("--database <database>");
      expect(help).toContain("--json");
    }
  });

  test.each([
    [["lst"], "unknown command 'lst' (Did you mean list?)"],
    [["list", "--nam", "x"], "unknown option '--nam' (Did you mean --name?)"],
    [["run"], "missing required argument 'reference'"],
    [["list", "a", "b"], "too many arguments"],
  ])("says in one line what is wrong with %j, and exits with 2", async (words, message) => {
    const { code, stdout, stderr } = await commandLine().run(...words);
    expect(code).toBe(2);
    expect(stdout).toBe("");
    expect(stderr).toMatch(/^express-skills: .*\n$/);
    expect(stderr).toContain(message);
  });

  test("says nothing when its reader has seen enough", async () => {
    const line = commandLine();
    const kit = openTestKit({ database: line.file });
    kit.define({ name: "work", schema: { type: "object" }, handler: () => ({ text: "x".repeat(5_000) }) });
    await Promise.all(Array.from({ length: 200 }, () => kit.executor.run("work", {})));
    const { child, ended } = line.start(["executions", "--json", "--limit", "200"]);
    child.stdout.once("data", () => child.stdout.destroy());
    expect(await ended).toMatchObject({ code: 0, stderr: "" });
  });

  test("uses colour and the width of a terminal, and no colour with NO_COLOR", async ({ skip }) => {
    if (spawnSync("script", ["--version"]).status !== 0) skip("there is no `script` of util-linux to make a terminal with");
    const line = commandLine();
    const kit = openTestKit({ database: line.file });
    kit.define({ name: "work", description: "long ".repeat(50), schema: { type: "object" }, handler: () => ({}) });
    await kit.ready();
    const coloured = await inTerminal(line.folder, "list", {});
    expect(coloured).toContain("\u001b[32mon");
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the colours
    for (const text of coloured.split("\r\n")) expect(text.replaceAll(/\u001b\[\d+m/g, "").length).toBeLessThanOrEqual(50);
    expect(await inTerminal(line.folder, "list", { NO_COLOR: "1" })).not.toContain("\u001b");
    expect((await line.run("list")).stdout).toContain("long ".repeat(50).trim());
  });
});

describe("the exit code", () => {
  test.each(Object.keys(errorTable) as SkillErrorCode[])(
    "of an error with code %s is one that the help lists, and not 0",
    (code) => {
      const listed = Object.values(exitCodes).map(([number]) => number as number);
      const exitCode = exitCodeOfError(new SkillError(code, ""));
      expect(listed).toContain(exitCode);
      expect(exitCode).not.toBe(0);
    },
  );

  test.each([
    ["SUCCESS", 0],
    ["ERROR", 1],
    ["TIMEOUT", 124],
    ["CANCELLED", 130],
    ["INTERRUPTED", 1],
  ] as const)("of an execution that ended as %s is %i", (status, code) => {
    expect(exitCodeOfStatus(status)).toBe(code);
  });

  test.each([
    ["SKILL_NOT_FOUND", 4],
    ["INVALID_INPUT", 2],
    ["AUDIT_UNAVAILABLE", 3],
    ["STORE_INVALID", 3],
    ["SKILL_CONFLICT", 4],
    ["SKILL_FAILED", 1],
  ] as const)("of %s is %i", (code, exitCode) => {
    expect(exitCodeOfError(new SkillError(code, ""))).toBe(exitCode);
  });
});

test("a database that is not there is not made by a look at it", { timeout }, async () => {
  const line = commandLine();
  expect((await line.run("list")).code).toBe(3);
  await makeDatabase(line);
  expect((await line.run("list")).code).toBe(0);
});

/** Runs a command in a terminal of 50 columns. */
async function inTerminal(cwd: string, words: string, environment: NodeJS.ProcessEnv): Promise<string> {
  const { NO_COLOR: _, ...inherited } = process.env;
  const command = `stty cols 50; ${JSON.stringify(process.execPath)} ${JSON.stringify(bin)} ${words}`;
  const env = { ...inherited, TERM: "xterm", ...environment };
  const child = spawn("script", ["-qec", command, "/dev/null"], { cwd, env, stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    output += chunk;
  });
  await once(child, "close");
  return output;
}
