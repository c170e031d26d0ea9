import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { describe, expect, test } from "vitest";
import { openTestKit } from "../../fixtures/kit.js";
import { commandLine, makeDatabase, timeout } from "./command-line.js";

const schema = { type: "object" } as const;

describe("express-skills enable and disable", { timeout }, () => {
  test("switch one version, a range, or every version, and a server sees it", async () => {
    const line = commandLine();
    const kit = openTestKit({ database: line.file });
    for (const version of ["1.0.0", "1.1.0", "2.0.0"])
      kit.define({ name: "work", version, schema, handler: () => ({ version }) });
    await kit.ready();
    expect((await line.run("disable", "work@2.0.0")).stdout).toBe("work@2.0.0 is disabled.\n");
    await kit.registry.invalidateCache();
    expect(await kit.executor.run("work", {})).toEqual({ version: "1.1.0" });
    expect((await line.run("disable", "work@^1")).stdout.trim().split("\n")).toHaveLength(2);
    await kit.registry.invalidateCache();
    await expect(kit.executor.run("work", {})).rejects.toMatchObject({ code: "SKILL_DISABLED" });
    expect(JSON.parse((await line.run("enable", "work", "--json")).stdout)).toHaveLength(3);
    await kit.registry.invalidateCache();
    expect(await kit.executor.run("work", {})).toEqual({ version: "2.0.0" });
  });

  test("turn the master switch, and list says so", async () => {
    const line = commandLine();
    await makeDatabase(line);
    expect((await line.run("disable", "--all")).stdout).toBe("All skills are switched off.\n");
    expect((await line.run("list")).stderr).toContain("express-skills enable --all");
    expect(JSON.parse((await line.run("enable", "--all", "--json")).stdout)).toEqual({ skillsEnabled: true });
  });

  test.each([
    [["enable"], 2, "--all"],
    [["enable", "work", "--all"], 2, "--all"],
    [["disable", "work@latest"], 2, "latest"],
    [["disable", "work@9"], 4, "system has no skill work@9; there are 1.0.0."],
    [["disable", "work", "--owner", "k9"], 4, "k9 has no skill work; see `express-skills list`"],
  ])("say what is wrong with %j", async (words, code, message) => {
    const line = commandLine();
    const kit = openTestKit({ database: line.file });
    kit.define({ name: "work", schema, handler: () => ({}) });
    await kit.ready();
    expect(await line.run(...words)).toMatchObject({ code, stdout: "", stderr: expect.stringContaining(message) });
  });
});

describe("express-skills prune", { timeout }, () => {
  test("deletes what ended before a time, in batches, and leaves the rest", async () => {
    const line = commandLine();
    const kit = openTestKit({ database: line.file });
    kit.define({ name: "work", schema, handler: () => ({}) });
    await Promise.all(Array.from({ length: 1_100 }, () => kit.executor.run("work", {})));
    await new Promise((resolve) => setTimeout(resolve, 5));
    const cut = new Date().toISOString();
    await kit.executor.run("work", {});
    const dry = await line.run("prune", "--before", cut, "--dry-run", "--json");
    expect(JSON.parse(dry.stdout)).toEqual({ before: cut, wouldDelete: 1_100 });
    expect((await line.run("prune", "--before", cut)).stdout).toBe(`1100 executions from before ${cut} are deleted.\n`);
    expect(await kit.executor.countExecutions()).toBe(1);
    expect(JSON.parse((await line.run("prune", "--days", "1", "--json")).stdout)).toMatchObject({ deleted: 0 });
  });

  test.each([[[]], [["--days", "1", "--before", "1d"]], [["--before", "yesterday"]], [["--days", "-1"]]])(
    "refuses %j",
    async (words) => {
      const line = commandLine();
      await makeDatabase(line);
      expect(await line.run("prune", ...words)).toMatchObject({ code: 2, stdout: "" });
    },
  );
});

describe("express-skills migrate", { timeout }, () => {
  test("makes a database that its owner alone can open, and says so; the second time it is up to date", async () => {
    const line = commandLine();
    expect((await line.run("migrate")).stdout).toMatch(/skills\.db is made:\n {2}0001_foundation\n/);
    expect(statSync(line.file).mode & 0o777).toBe(0o600);
    expect((await line.run("migrate")).stdout).toMatch(/skills\.db is up to date\.\n$/);
    expect(JSON.parse((await line.run("migrate", "--json")).stdout)).toMatchObject({ created: false, applied: [] });
  });

  test("brings an older database up to date, which other commands leave alone", async () => {
    const line = commandLine();
    new Database(line.file).exec("create table other (a)").close();
    const refused = await line.run("list");
    expect(refused).toMatchObject({ code: 3, stderr: expect.stringContaining("express-skills migrate") });
    expect((await line.run("migrate")).stdout).toMatch(/is brought up to date:\n {2}0001_foundation/);
    expect((await line.run("list")).code).toBe(0);
  });

  test("refuses a database of a newer version", async () => {
    const line = commandLine();
    await makeDatabase(line);
    const database = new Database(line.file);
    database.exec("insert into skills_migrations (name, timestamp) values ('9999_future', '')");
    database.close();
    expect(await line.run("migrate")).toMatchObject({ code: 3, stderr: expect.stringContaining("newer version") });
  });
});

describe("the database of a command", { timeout }, () => {
  test("is what --database names, else SKILLS_DATABASE, and is not made by looking", async () => {
    const line = commandLine();
    const [first, second] = [join(line.folder, "first.db"), join(line.folder, "second.db")];
    await line.run("migrate", "--database", first);
    const byEnvironment = await line.start(["list"], { SKILLS_DATABASE: first }).ended;
    expect(byEnvironment.code).toBe(0);
    const byOption = await line.start(["--database", second, "list"], { SKILLS_DATABASE: first }).ended;
    expect(byOption).toMatchObject({ code: 3, stderr: expect.stringContaining(`There is no database ${second}`) });
    expect(existsSync(second)).toBe(false);
    expect(existsSync(line.file)).toBe(false);
  });

  test("is a file too when its name has a colon, and is not made by looking", async () => {
    const line = commandLine();
    const ended = await line.run("list", "--database", "notes:2026.db");
    expect(ended).toMatchObject({ code: 3, stderr: expect.stringContaining("There is no database") });
    expect(existsSync(join(line.folder, "notes:2026.db"))).toBe(false);
  });

  test.each([
    ["not a database at all, but a text that is long enough to be read as one ".repeat(20), 3],
    ["", 3],
  ])("that cannot be used is told in one line", async (content, code) => {
    const line = commandLine();
    line.write("skills.db", content);
    const ended = await line.run("list");
    expect(ended).toMatchObject({ code, stdout: "" });
    expect(ended.stderr.trim().split("\n")).toHaveLength(1);
    expect(ended.stderr).not.toMatch(/\n\s+at /);
  });

  test.each([
    ["postgres://root:hunter2@127.0.0.1:1/skills", 3],
    ["postgres://root:hunter2@127.0.0.1:1/skills?sslmod=require", 2],
    ["mysql://root:hunter2@127.0.0.1/skills", 2],
  ])("that is the URL %s and cannot be used is told without its password", async (url, code) => {
    for (const words of [["list"], ["doctor", "--json"]]) {
      const ended = await commandLine().run(...words, "--database", url);
      expect(ended.code).toBe(words[0] === "doctor" ? 1 : code);
      expect(ended.stdout + ended.stderr).not.toContain("hunter2");
    }
  });
});
