import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { defaultSkills, respond, skill, skillErrors, skills } from "../../middleware/index.js";
import { newKit, post, send, serve, versions } from "./servers.js";

const anything = { type: "object" } as const;

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "express-skills-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

describe.each(versions)("skills() on Express $version", ({ express }) => {
  test("two kits in one process keep apart, and the innermost one wins", async () => {
    const outer = newKit();
    const inner = newKit();
    const handle = outer.define({ name: "which", schema: anything, handler: () => "outer" });
    inner.define({ name: "which", schema: anything, handler: () => "inner" });
    const app = express().use(express.json()).use(outer);
    app.post("/outer", skill(handle), respond());
    app.use("/nested", express.Router().use(inner).post("/", skill("which"), respond()));
    app.post("/route", inner, skill("which"), respond());
    const url = await serve(app.use(skillErrors()));
    expect((await post(`${url}/outer`, {})).body).toBe("outer");
    expect((await post(`${url}/nested`, {})).body).toBe("inner");
    expect((await post(`${url}/route`, {})).body).toBe("inner");
    expect(await outer.executor.countExecutions()).toBe(1);
    expect(await inner.executor.countExecutions()).toBe(2);
  });

  test("the same kit mounted again keeps the results so far", async () => {
    const kit = newKit();
    kit.define({ name: "one", schema: anything, handler: () => 1 });
    const app = express().use(express.json()).use(kit).use(skill("one"));
    app.use("/", express.Router().use(kit).post("/", respond("one")));
    const url = await serve(app.use(skillErrors()));
    expect((await post(url, {})).body).toBe(1);
  });

  test("a database that cannot be opened does not break routes without skills", async () => {
    const folder = await newFolder();
    const database = join(folder, "skills.db");
    await writeFile(database, "this is no database, and longer than the hundred bytes of a header".repeat(4));
    const kit = newKit({ database });
    kit.define({ name: "one", schema: anything, handler: () => 1 });
    const app = express().use(express.json()).use(kit);
    app.get("/plain", (req, res) => void res.json(typeof req.skills));
    app.post("/skill", skill("one"), respond());
    app.get("/skill", skill("one"), respond());
    const url = await serve(app.use(skillErrors()));
    expect((await send(`${url}/plain`)).body).toBe("object");
    for (const answer of [await post(`${url}/skill`, {}), await send(`${url}/skill`)]) {
      expect(answer).toMatchObject({ status: 500, body: { code: "STORE_INVALID" } });
      expect(answer.text).not.toContain(folder);
    }
    expect((await send(`${url}/plain`)).status).toBe(200);
  });

  test("a closed kit refuses with 503 and the other routes answer", async () => {
    const kit = newKit();
    kit.define({ name: "one", schema: anything, handler: () => 1 });
    const app = express().use(express.json()).use(kit);
    app.post("/skill", skill("one"), respond());
    app.get("/plain", (_req, res) => void res.json(1));
    const url = await serve(app.use(skillErrors()));
    expect((await post(`${url}/skill`, {})).status).toBe(200);
    await kit.close();
    expect(await post(`${url}/skill`, {})).toMatchObject({ status: 503, body: { code: "SHUTTING_DOWN" } });
    expect((await send(`${url}/plain`)).status).toBe(200);
  });

  test("the master switch is 503 for callers", async () => {
    const kit = newKit();
    kit.define({ name: "one", schema: anything, handler: () => 1 });
    const app = express().use(express.json()).use(kit);
    app.post("/", skill("one"), respond());
    const url = await serve(app.use(skillErrors()));
    await kit.registry.setSkillsEnabled(false);
    expect(await post(url, {})).toMatchObject({ status: 503, body: { code: "SKILLS_DISABLED" } });
    await kit.registry.setSkillsEnabled(true);
    expect((await post(url, {})).status).toBe(200);
  });
});

describe("what skills() returns", () => {
  test("is a named middleware of three parameters that carries the kit, and that Express takes for no application", () => {
    const kit = newKit();
    expect([kit.name, kit.length]).toEqual(["skillsMiddleware", 3]);
    expect("handle" in kit && "set" in kit).toBe(false);
    for (const member of ["registry", "executor", "define", "ready", "close", "logger"]) expect(kit).toHaveProperty(member);
  });

  test("is the process-wide kit without options, and a new kit for any object", async () => {
    const folder = await newFolder();
    const before = process.env.SKILLS_DATABASE;
    process.env.SKILLS_DATABASE = join(folder, "default.db");
    try {
      const kit = skills();
      expect(kit.executor).toBe(skills().executor);
      expect(kit.executor).toBe(defaultSkills().executor);
      expect(newKit({}).executor).not.toBe(kit.executor);
      await kit.close();
    } finally {
      if (before === undefined) delete process.env.SKILLS_DATABASE;
      else process.env.SKILLS_DATABASE = before;
    }
  });

  test.each([
    ["a misspelt option", { databse: ":memory:" }, /"databse".*"database"/],
    ["a misspelt option of the middleware", { identfy: () => null }, /"identfy".*"identify"/],
    ["identify that is no function", { identify: "alice" }, /identify/],
    ["a value out of its bounds", { timeoutMs: 0 }, /timeoutMs/],
    ["null", null, /object/],
    ["a text", "skills.db", /object/],
  ])("refuses %s", (_what, options, message) => {
    const wrong = expect.objectContaining({ code: "INVALID_OPTION", message: expect.stringMatching(message) });
    expect(() => skills(options as never)).toThrow(wrong);
  });

  test("takes undefined options as absent", async () => {
    const kit = skills({ database: ":memory:", identify: undefined, logger: undefined, timeoutMs: undefined, audit: undefined });
    await kit.ready();
    await kit.close();
  });
});
