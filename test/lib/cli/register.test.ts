import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { commandLine, timeout } from "./command-line.js";

const definition = { name: "resize", version: "1.0.0", schema: { type: "object" }, handler: "resize" };

describe("express-skills register", { timeout }, () => {
  test("registers a file, makes the database, and changes nothing the second time", async () => {
    const line = commandLine();
    line.write("resize.json", definition);
    expect(await line.run("register", "resize.json")).toMatchObject({
      code: 0,
      stdout: "resize@1.0.0 is registered.\n",
      stderr: "",
    });
    expect(await line.run("register", "resize.json")).toMatchObject({ code: 0, stdout: "resize@1.0.0 is unchanged.\n" });
    const { stdout } = await line.run("list");
    expect(stdout).toMatch(/^SKILL\s+STATE\s+OWNER\s+TAGS\s+DESCRIPTION\nresize@1\.0\.0\s+on\s+system\n$/);
  });

  test("overwrites other content only with --replace", async () => {
    const line = commandLine();
    line.write("resize.json", definition);
    await line.run("register", "resize.json");
    line.write("resize.json", { ...definition, timeoutMs: 5 });
    const refused = await line.run("register", "resize.json");
    expect(refused.code).toBe(4);
    expect(refused.stderr).toContain("exists with other content (different: timeoutMs)");
    expect(await line.run("register", "resize.json", "--replace")).toMatchObject({
      code: 0,
      stdout: "resize@1.0.0 is replaced.\n",
    });
  });

  test("takes every .json file of a folder, and tells every fault of all of them", async () => {
    const line = commandLine();
    mkdirSync(join(line.folder, "skills"));
    line.write("skills/a.json", [definition, { ...definition, name: "crop" }]);
    line.write("skills/b.json", { name: "1st", version: "v1", schema: { type: "thing" }, handler: 7 });
    line.write("skills/c.json", "{");
    line.write("skills/d.json", { ...definition, name: "slow", schema: { pattern: "(?=a)" } });
    line.write("skills/e.txt", "not looked at");
    const { code, stdout, stderr } = await line.run("register", "skills");
    expect(code).toBe(2);
    expect(stdout).toBe("resize@1.0.0 is registered.\ncrop@1.0.0 is registered.\n");
    expect(stderr).toContain("refused skills/b.json: 1st@v1\n");
    for (const pointer of ["/name", "/version", "/handler"]) expect(stderr).toContain(`  ${pointer} `);
    expect(stderr).toMatch(/refused skills\/c\.json: skills\/c\.json is not JSON/);
    expect(stderr).toMatch(/refused skills\/d\.json: slow@1\.0\.0\n {2}\/schema\/pattern /);
    expect(JSON.parse((await line.run("list", "--json")).stdout)).toHaveLength(2);
  });

  test.each([[null], ["text"], [[[]]], [{ name: { toString: 1 } }], [{ __proto__: null, name: "\u001b[2J" }]])(
    "refuses what is no definition: %j",
    async (content) => {
      const line = commandLine();
      line.write("hostile.json", JSON.stringify(content));
      const { code, stdout, stderr } = await line.run("register", "hostile.json");
      expect(code).toBe(2);
      expect(stdout).toBe("");
      expect(stderr).toContain("refused");
      expect(stderr).not.toContain("\u001b");
      expect(stderr).not.toMatch(/\n\s+at /);
    },
  );

  test("with --json prints what became of each", async () => {
    const line = commandLine();
    line.write("two.json", [definition, { ...definition, name: "" }]);
    const { code, stdout, stderr } = await line.run("register", "two.json", "--json");
    expect(code).toBe(2);
    expect(stderr).toBe("");
    expect(JSON.parse(stdout)).toMatchObject([
      { skill: "resize@1.0.0", result: "registered", error: null },
      { result: "refused", error: { code: "INVALID_DEFINITION", faults: [{ pointer: "/name" }] } },
    ]);
  });

  test("says when there is nothing to register", async () => {
    const line = commandLine();
    mkdirSync(join(line.folder, "empty"));
    expect(await line.run("register", "empty")).toMatchObject({ code: 2, stderr: expect.stringContaining("no .json files") });
    expect(await line.run("register", "missing")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("no file or folder"),
    });
  });
});
