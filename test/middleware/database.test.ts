import { writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { respond, skill, skillErrors } from "../../middleware/index.js";
import { newDatabase } from "../fixtures/database.js";
import { temporaryFolder } from "../fixtures/kit.js";
import { lockDatabase } from "../fixtures/lock.js";
import { memoryLogger, newKit, post, send, serve, until, versions } from "./servers.js";

describe.each(versions)("a database in trouble, on Express $version", ({ express }) => {
  const newServer = async (database: string) => {
    const logger = memoryLogger();
    const kit = newKit({ database, logger, audit: { waitMs: 200 } });
    let runs = 0;
    const echo = kit.define({
      name: "echo",
      schema: { type: "object" },
      handler: (input) => {
        runs++;
        return input;
      },
    });
    const app = express().use(express.json()).use(kit);
    app.get("/plain", (_req, res) => res.send("fine"));
    app.post("/echo", skill(echo), respond());
    return { url: await serve(app.use(skillErrors())), kit, logger, runs: () => runs };
  };

  test("that is locked: routes without skills answer, calls get 503 with Retry-After before their handler runs, and it recovers", async () => {
    const database = newDatabase();
    const { url, kit, logger, runs } = await newServer(database);
    expect((await post(`${url}/echo`, { n: 1 })).body).toEqual({ n: 1 });
    const lock = await lockDatabase(database);
    const first = await post(`${url}/echo`, { n: 2 });
    expect([first.status, first.body.code]).toEqual([503, "AUDIT_UNAVAILABLE"]);
    const runsBefore = runs();
    const second = await post(`${url}/echo`, { n: 3 });
    expect([second.status, second.body.code, second.headers.get("retry-after")]).toEqual([503, "AUDIT_UNAVAILABLE", "1"]);
    expect(runs()).toBe(runsBefore);
    expect((await send(`${url}/plain`)).text).toBe("fine");
    await lock.release();
    await until(async () => (await post(`${url}/echo`, { n: 4 })).status === 200);
    await until(async () => (await kit.executor.countExecutions({ status: "SUCCESS" })) >= 3);
    expect(logger.lines.some(({ level, message }) => level === "error" && message.includes("audit"))).toBe(true);
  });

  test.each([
    ["no database at all", (file: string) => writeFileSync(file, "this is a text file, ".repeat(100))],
    ["in a folder that does not exist", undefined],
  ])("that is %s: 500 without the path or the reason, which are in the log; other routes answer", async (_, prepare) => {
    const folder = temporaryFolder();
    const file = prepare === undefined ? `${folder}/none/skills.db` : `${folder}/skills.db`;
    prepare?.(file);
    const { url, logger, runs } = await newServer(file);
    const answer = await post(`${url}/echo`, {});
    expect([answer.status, answer.body.code, answer.body.detail]).toEqual([500, "STORE_INVALID", "The database cannot be used"]);
    expect(answer.text).not.toContain(folder);
    expect(runs()).toBe(0);
    expect(String(logger.lines.find(({ level }) => level === "error")?.fields.err)).toContain(file);
    expect((await send(`${url}/plain`)).text).toBe("fine");
  });
});
