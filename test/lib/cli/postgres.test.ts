import { describe, expect, test } from "vitest";
import { connectBeside, newPostgresDatabase } from "../../fixtures/database.js";
import { openTestKit, until } from "../../fixtures/kit.js";
import {
  type CommandLine,
  commandLine,
  type Ended,
  handlers,
  type Running,
  runHere,
  timeout,
  withoutEngine,
} from "./command-line.js";

const schema = { type: "object" } as const;

describe("the command line on PostgreSQL", { timeout }, () => {
  test("neither makes nor changes tables by looking, and migrate makes them", async () => {
    const { run, database } = onPostgres();
    const looks = [["list"], ["run", "work"], ["executions"], ["enable", "--all"], ["prune", "--days", "1"], ["dashboard"]];
    for (const words of looks) {
      const { code, stderr } = await run(...words);
      expect([words, code]).toEqual([words, 3]);
      expect(stderr).toContain("has no tables of express-skills. Name one with --database or SKILLS_DATABASE");
    }
    const beside = await connectBeside(database);
    const tables = "select 1 from pg_class where relnamespace = current_schema()::regnamespace";
    expect((await beside.query(tables)).rowCount).toBe(0);
    expect((await run("migrate")).stdout).toMatch(/^postgres:\/\/\S+ is made:\n {2}0001_foundation\n/);
    expect((await run("migrate")).stdout).toMatch(/^postgres:\/\/\S+ is up to date\.\n$/);
    expect((await run("list")).code).toBe(0);
  });

  test("refuses tables of an older version until migrate was run, and those of a newer one", async () => {
    const { run, database } = onPostgres();
    await run("migrate");
    const beside = await connectBeside(database);
    await beside.query("alter table skill_executions drop column sandbox, drop column log");
    await beside.query("delete from skills_migrations where name = '0002_containers'");
    expect(await run("list")).toMatchObject({ code: 3, stderr: expect.stringContaining("is of an older version") });
    expect((await run("migrate")).stdout).toMatch(/is brought up to date:\n {2}0002_containers/);
    expect((await run("list")).code).toBe(0);
    await beside.query("insert into skills_migrations (name, timestamp) values ('9999_future', '')");
    for (const words of [["list"], ["migrate"]])
      expect(await run(...words)).toMatchObject({ code: 3, stderr: expect.stringContaining("newer version") });
  });

  test("registers, lists, runs, switches and prunes; a server is told of what changes", async () => {
    const { run, line, database } = onPostgres();
    const definition = { name: "count", version: "1.0.0", schema, handler: "count" };
    const module = line.write("handlers.mjs", handlers);
    expect(await run("register", line.write("count.json", definition))).toMatchObject({
      code: 0,
      stdout: "count@1.0.0 is registered.\n",
    });
    const kit = openTestKit({ database });
    kit.executor.registerHandler("count", () => ({ n: 0 }));
    await kit.ready();
    expect((await run("list")).stdout).toMatch(/count@1\.0\.0\s+on\s+system/);
    const ran = await run("run", "count@^1.2", "--require", module, "--input", '{"n":2}');
    expect(ran).toMatchObject({ code: 0, stdout: '{\n  "n": 2\n}\n' });
    expect(JSON.parse((await run("executions", "--json", "--skill", "count@1.2.0")).stdout)).toMatchObject([
      { status: "SUCCESS", output: { n: 2 } },
    ]);
    await run("disable", "count@1.0.0");
    await until(async () => (await kit.executor.execute("count@1.0.0", {}).catch(({ code }) => code)) === "SKILL_DISABLED");
    await run("enable", "count@1.0.0");
    await until(async () => (await kit.executor.run("count@1.0.0", {}).catch(() => undefined)) !== undefined);
    await run("disable", "--all");
    await until(async () => (await kit.executor.execute("count@1.0.0", {}).catch(({ code }) => code)) === "SKILLS_DISABLED");
    const { wouldDelete } = JSON.parse((await run("prune", "--days", "0", "--dry-run", "--json")).stdout);
    expect(wouldDelete).toBeGreaterThan(2);
    expect(JSON.parse((await run("prune", "--days", "0", "--json")).stdout).deleted).toBeGreaterThanOrEqual(wouldDelete);
    expect(await kit.executor.countExecutions()).toBe(0);
  });

  test("works off the queue until SIGTERM, and ends what does not finish within --grace", async () => {
    const { run, line, start, database } = onPostgres();
    await run("migrate");
    line.write("handlers.mjs", handlers);
    const worker = start("worker", "--require", "./handlers.mjs", "--grace", "200");
    await worker.printed("The worker is ready");
    const kit = openTestKit({ database, worker: false });
    const done = await kit.executor.enqueue("count", { n: 3 });
    const endless = await kit.executor.enqueue("waits", {});
    await until(async () => (await kit.executor.getExecution(done.id))?.status === "SUCCESS", 30_000);
    await worker.printed("waiting");
    worker.child.kill("SIGTERM");
    expect((await worker.ended).code).toBe(0);
    expect(await kit.executor.getExecution(endless.id)).toMatchObject({ status: "CANCELLED", errorCode: "SHUTTING_DOWN" });
  });

  test("follows what begins and ends in another process, and serves the dashboard", async () => {
    const { start, database } = onPostgres();
    const kit = openTestKit({ database });
    kit.define({ name: "work", schema, handler: () => ({}) });
    await kit.ready();
    const following = start("executions", "--follow", "--json");
    const before = await kit.executor.execute("work", {});
    await following.printed(before.id);
    following.child.kill("SIGINT");
    expect((await following.ended).code).toBe(0);
    const serving = start("dashboard");
    await serving.printed("Ctrl-C");
    const [, origin, token] = /(http:\/\/127\.0\.0\.1:\d+)\/#token=([\w-]{43})\n/.exec(serving.output()) ?? [];
    const answer = await fetch(`${origin}/api/stats`, { headers: { Authorization: `Bearer ${token}` } });
    expect(await answer.json()).toMatchObject({ count: 1, byStatus: { SUCCESS: 1 }, skills: [{ name: "work", count: 1 }] });
    serving.child.kill("SIGTERM");
    expect((await serving.ended).code).toBe(0);
  });
});

describe("express-skills doctor on PostgreSQL", { timeout }, () => {
  test("says how the server answers, and wants no SQLite driver", async () => {
    const { doctor, database } = onPostgres();
    expect(await doctor()).toMatchObject({ code: 0, stdout: expect.stringMatching(/^warning +database +\S+ has no tables of/m) });
    const kit = openTestKit({ database });
    kit.define({ name: "work", schema, handler: () => ({}) });
    await kit.ready();
    const { code, stdout } = await doctor();
    expect(code).toBe(0);
    expect(stdout).toMatch(/^ok +database +postgres:\/\/\S+, PostgreSQL \d+[.\d]*.*, answers in \d+\.\d ms$/m);
    expect(stdout).toMatch(/^ok +skills +1 versions, 1 of them enabled$/m);
    expect(stdout).not.toMatch(/ driver /);
  });

  test("finds what is broken: tables of a newer version, a server that only reads, one that is not there, a wrong password", async () => {
    const { doctor, database, run } = onPostgres();
    const findings = async (change: (url: URL) => void) => {
      const url = new URL(database);
      change(url);
      const { code, stdout } = await doctor("--json", "--database", url.href);
      const found = JSON.parse(stdout).findings.filter((finding: { subject: string }) => finding.subject === "database");
      return [code, ...found.filter((finding: { state: string }) => finding.state === "broken")];
    };
    const broken = (message: string, action: string) =>
      expect.objectContaining({ message: expect.stringContaining(message), action: expect.stringContaining(action) });
    expect(await findings((url) => url.searchParams.append("options", ""))).toEqual([1, broken("twice", "Correct the URL")]);
    const readOnly = (url: URL) =>
      url.searchParams.set("options", `${url.searchParams.get("options")} -c default_transaction_read_only=on`);
    expect(await findings(readOnly)).toEqual([1, broken("can only be read", "primary")]);
    const nowhere = (url: URL) => {
      url.port = "1";
    };
    expect(await findings(nowhere)).toEqual([1, broken("ECONNREFUSED", "Start the server")]);
    const stranger = (url: URL) => {
      url.username = "nobody_of_that_name";
    };
    expect(await findings(stranger)).toEqual([1, broken("nobody_of_that_name", "Correct user, password")]);
    await run("migrate");
    const beside = await connectBeside(database);
    await beside.query("insert into skills_migrations (name, timestamp) values ('9999_future', '')");
    expect(await findings(() => {})).toEqual([1, broken("newer version (9999_future)", "Update express-skills")]);
  });
});

interface OnPostgres {
  readonly database: string;
  readonly line: CommandLine;
  run(...words: string[]): Promise<Ended>;
  start(...words: string[]): Running;
  doctor(...words: string[]): Promise<Ended>;
}

/** The command line on an empty schema, whose output never has the password. */
function onPostgres(): OnPostgres {
  const database = newPostgresDatabase();
  const { password } = new URL(database);
  const line = commandLine();
  const start = (...words: string[]) => line.start(words, { SKILLS_DATABASE: database });
  const silent = async (ended: Promise<Ended>) => {
    const { stdout, stderr } = await ended;
    for (const secret of [password, decodeURIComponent(password)])
      if (secret !== "") expect(stdout + stderr).not.toContain(secret);
    return ended;
  };
  return {
    database,
    line,
    start,
    run: (...words) => silent(runHere(words, { SKILLS_DATABASE: database })),
    doctor: (...words) => silent(runHere(["doctor", ...words], { ...withoutEngine(line), SKILLS_DATABASE: database })),
  };
}
