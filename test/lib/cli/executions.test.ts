import { describe, expect, test } from "vitest";
import { gate, openTestKit, type TestKit } from "../../fixtures/kit.js";
import { type CommandLine, commandLine, timeout } from "./command-line.js";

const schema = { type: "object" } as const;

describe("express-skills executions", { timeout }, () => {
  test("lists the newest first, as a table or as JSON, and one in full", async () => {
    const { line, kit } = await server();
    const first = await kit.executor.execute("work", { n: 1 }, { apiKeyId: "k1" });
    const second = await kit.executor.execute("fails", {});
    const table = (await line.run("executions")).stdout.trim().split("\n");
    expect(table).toHaveLength(3);
    expect(table[1]).toMatch(new RegExp(`ERROR +fails@1\\.0\\.0 .*${second.id} +SKILL_FAILED no, \\\\u001b\\[2J`));
    expect(table[2]).toMatch(new RegExp(`SUCCESS +work@1\\.0\\.0 .*k1 +${first.id}$`));
    const json = JSON.parse((await line.run("executions", "--json", "--status", "success")).stdout);
    expect(json).toMatchObject([{ id: first.id, input: { n: 1 } }]);
    const one = (await line.run("executions", first.id)).stdout;
    expect(one).toMatch(/owner +k1\n/);
    expect(one).toContain('input\n{\n  "n": 1\n}\n');
    expect(JSON.parse((await line.run("executions", second.id, "--json")).stdout)).toMatchObject({ id: second.id });
  });

  test("filters by skill, version, owner and time", async () => {
    const { line, kit } = await server();
    await kit.executor.execute("work", {}, { apiKeyId: "k1" });
    await kit.executor.execute("fails", {}, { apiKeyId: "k2" });
    const count = async (...words: string[]) => JSON.parse((await line.run("executions", "--json", ...words)).stdout).length;
    expect(await count("--skill", "work")).toBe(1);
    expect(await count("--skill", "work@2.0.0")).toBe(0);
    expect(await count("--owner", "k2")).toBe(1);
    expect(await count("--since", "1h")).toBe(2);
    expect(await count("--before", "1h")).toBe(0);
    expect(await count("--limit", "1")).toBe(1);
  });

  test.each([
    [["not-an-id"], 4, "There is no execution"],
    [["--status", "DONE"], 2, "--status must be one of"],
    [["--since", "soon"], 2, "--since must be a time"],
    [["--limit", "5000"], 2, "from 1 to 1000"],
    [["id", "--follow"], 2, "--follow"],
  ])("says what is wrong with %j", async (words, code, message) => {
    const { line } = await server();
    expect(await line.run("executions", ...words)).toMatchObject({ code, stdout: "", stderr: expect.stringContaining(message) });
  });

  test("with --follow tells what begins and ends in another process, once each, until Ctrl-C", async () => {
    const { line, kit } = await server();
    const before = await kit.executor.execute("work", {});
    const running = line.start(["executions", "--follow", "--json"]);
    await running.printed(before.id);
    const held = gate<Record<string, never>>();
    kit.define({ name: "held", schema, handler: () => held.promise });
    const call = kit.executor.execute("held", {});
    await running.printed('"status":"RUNNING"');
    const quick = await kit.executor.execute("work", {});
    await running.printed(quick.id);
    held.open({});
    const { id } = await call;
    await running.printed(new RegExp(`"id":"${id}".*"status":"SUCCESS"`));
    running.child.kill("SIGINT");
    const { code, stdout } = await running.ended;
    expect(code).toBe(0);
    const told = stdout
      .trim()
      .split("\n")
      .map((text) => JSON.parse(text));
    expect(told.map((execution) => [execution.id, execution.status])).toEqual([
      [before.id, "SUCCESS"],
      [id, "RUNNING"],
      [quick.id, "SUCCESS"],
      [id, "SUCCESS"],
    ]);
  });

  test("with --follow and a status tells those that come to have it", async () => {
    const { line, kit } = await server();
    const running = line.start(["executions", "--follow", "--status", "ERROR"]);
    await running.printed("BEGAN");
    const { id } = await kit.executor.execute("fails", {});
    await kit.executor.execute("work", {});
    await running.printed(id);
    running.child.kill("SIGTERM");
    expect((await running.ended).stdout.trim().split("\n")).toHaveLength(2);
  });

  test("ends quietly when its reader has seen enough", async () => {
    const { line, kit } = await server();
    await kit.executor.execute("work", {});
    const running = line.start(["executions", "--follow"]);
    await running.printed("work@1.0.0");
    running.child.stdout.destroy();
    await kit.executor.execute("work", {});
    expect(await running.ended).toMatchObject({ code: 0, stderr: "" });
  });
});

async function server(): Promise<{ line: CommandLine; kit: TestKit }> {
  const line = commandLine();
  const kit = openTestKit({ database: line.file });
  kit.define({ name: "work", schema, handler: () => ({}) });
  kit.define({
    name: "fails",
    schema,
    handler: () => {
      throw new Error("no, \u001b[2J");
    },
  });
  await kit.ready();
  return { line, kit };
}
