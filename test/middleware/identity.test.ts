import createError from "http-errors";
import { describe, expect, test } from "vitest";
import { parallel, respond, skill, skillErrors } from "../../middleware/index.js";
import { newKit, post, send, serve, versions } from "./servers.js";

const anything = { type: "object" } as const;

describe.each(versions)("identify on Express $version", ({ express }) => {
  function newApp(identify: unknown) {
    const kit = newKit({ identify: identify as never });
    const who = kit.define({
      name: "who",
      schema: anything,
      handler: (_input, { apiKeyId, sessionId }) => ({ apiKeyId, sessionId }),
    });
    return { kit, who, app: express().use(express.json()).use(kit) };
  }

  test("it may be async, and runs once per request, when a skill is first needed", async () => {
    let asked = 0;
    const { app, who, kit } = newApp(async (req: { headers: Record<string, string> }) => {
      asked++;
      return { apiKeyId: req.headers["x-key"], sessionId: "s-1" };
    });
    app.post("/", skill(who, { as: "a" }), parallel(skill(who, { as: "b" }), skill(who, { as: "c" })), async (req, res) => {
      res.json([req.skills.apiKeyId, req.skills.sessionId, req.skills.results, await req.skills.run(who, {})]);
    });
    app.get("/without", (req, res) => void res.json([req.skills.apiKeyId === undefined, req.skills.sessionId === undefined]));
    app.get("/asks", async (req, res) => void res.json([(await req.skills.identity()).apiKeyId, req.skills.apiKeyId]));
    const url = await serve(app.use(skillErrors()));
    const alice = { apiKeyId: "alice", sessionId: "s-1" };
    expect((await post(url, {}, { "x-key": "alice" })).body).toEqual(["alice", "s-1", { a: alice, b: alice, c: alice }, alice]);
    expect(asked).toBe(1);
    expect((await send(`${url}/without`)).body).toEqual([true, true]);
    expect(asked).toBe(1);
    expect((await send(`${url}/asks`, { headers: { "x-key": "bob" } })).body).toEqual(["bob", "bob"]);
    expect(await kit.executor.countExecutions({ apiKeyId: "alice", sessionId: "s-1" })).toBe(4);
  });

  test("without identify every caller is `default`", async () => {
    const { app, who } = newApp(undefined);
    app.post("/", skill(who), (req, res) => void res.json([req.skills.result(who), req.skills.apiKeyId, req.skills.sessionId]));
    const url = await serve(app.use(skillErrors()));
    expect((await post(url, { apiKeyId: "root" })).body).toEqual([{ apiKeyId: "default", sessionId: null }, "default", null]);
  });

  test("the caller sees own skills and those of system, never those of others", async () => {
    const { app, kit } = newApp((req: { headers: Record<string, string> }) => ({ apiKeyId: req.headers["x-key"] }));
    kit.define({ name: "tool", version: "1.0.0", apiKeyId: "alice", schema: anything, handler: () => "alice's" });
    kit.define({ name: "tool", version: "2.0.0", schema: anything, handler: () => "everyone's" });
    kit.define({ name: "private", apiKeyId: "alice", schema: anything, handler: () => "alice's" });
    app.post("/tool", skill("tool"), respond());
    app.post("/private", skill("private"), respond());
    const url = await serve(app.use(skillErrors()));
    expect((await post(`${url}/tool`, {}, { "x-key": "alice" })).body).toBe("alice's");
    expect((await post(`${url}/tool`, {}, { "x-key": "bob" })).body).toBe("everyone's");
    expect((await post(`${url}/private`, {}, { "x-key": "bob" })).status).toBe(404);
  });

  test("nobody is 401, before anything is said about the input, and `onError` does not help", async () => {
    for (const nobody of [null, undefined]) {
      const { app, who, kit } = newApp(async () => nobody);
      app.post("/", skill(who, { onError: "continue" }), respond());
      const url = await serve(app.use(skillErrors()));
      expect(await post(url, {})).toMatchObject({ status: 401, body: { code: "UNAUTHENTICATED" } });
      const unread = await post(url, "words", { "content-type": "text/plain" });
      expect(unread.body.code).toBe("UNAUTHENTICATED");
      expect(await kit.executor.countExecutions()).toBe(0);
    }
  });

  test("what it throws goes to next", async () => {
    const { app, who } = newApp((req: { url: string }) => {
      if (req.url === "/odd") throw undefined;
      throw createError(403, "key revoked", { headers: { "WWW-Authenticate": "Bearer" } });
    });
    const reached: string[] = [];
    for (const path of ["/", "/odd"]) {
      app.post(path, skill(who), (_req, res) => {
        reached.push(path);
        res.end();
      });
    }
    const url = await serve(app.use(skillErrors()));
    const answer = await post(url, {});
    expect(answer).toMatchObject({ status: 403, body: { detail: "key revoked" } });
    expect(answer.headers.get("www-authenticate")).toBe("Bearer");
    expect((await post(`${url}/odd`, {})).status).toBe(500);
    expect(reached).toEqual([]);
  });

  test("a malformed identity is the application's fault and runs nothing", async () => {
    const malformed = [
      "alice",
      {},
      { apiKeyId: "" },
      { apiKeyId: 7 },
      { apiKeyId: "a\u0000" },
      { apiKeyId: "x".repeat(201) },
      { apiKeyId: "alice", sessionId: 5 },
      { apiKeyId: "alice", sessionId: "" },
    ];
    for (const identity of malformed) {
      const { app, who, kit } = newApp(() => identity);
      app.post("/", skill(who), respond());
      const url = await serve(app.use(skillErrors()));
      expect([identity, (await post(url, {})).body.code]).toEqual([identity, "INVALID_OPTION"]);
      expect(await kit.executor.countExecutions()).toBe(0);
    }
  });
});
