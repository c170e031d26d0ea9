import { describe, expect, test } from "vitest";
import { respond, skill, skillErrors } from "../../middleware/index.js";
import { newKit, post, send, serve, versions } from "./servers.js";

const anything = { type: "object" } as const;

describe.each(versions)("respond() on Express $version", ({ express }) => {
  function newApp() {
    const kit = newKit();
    const one = kit.define({ name: "one", schema: anything, handler: () => ({ n: 1 }) });
    const nothing = kit.define({ name: "nothing", schema: anything, handler: () => null });
    const app = express().use(express.json()).use(kit);
    return { kit, one, nothing, app };
  }

  test("sends the last result, the named one, and null as JSON", async () => {
    const { app, one, nothing } = newApp();
    app.post("/last", skill(nothing), skill(one), respond());
    app.post("/named", skill(one, { as: "first" }), skill(nothing), respond("first"));
    app.post("/null", skill(one), skill(nothing), respond());
    const url = await serve(app.use(skillErrors()));
    expect((await post(`${url}/last`, {})).body).toEqual({ n: 1 });
    expect((await post(`${url}/named`, {})).body).toEqual({ n: 1 });
    const answer = await post(`${url}/null`, {});
    expect([answer.status, answer.text, answer.headers.get("content-type")]).toEqual([
      200,
      "null",
      "application/json; charset=utf-8",
    ]);
  });

  test("a skipped last step leaves the one before as the last", async () => {
    const { app, one, nothing } = newApp();
    app.post("/", skill(one), skill(nothing, { when: () => false }), respond());
    const url = await serve(app.use(skillErrors()));
    expect((await post(url, {})).body).toEqual({ n: 1 });
  });

  test("a named result may come from the application itself", async () => {
    const { app } = newApp();
    app.get(
      "/",
      (req, _res, next) => {
        req.skills.results.mine = [1];
        next();
      },
      respond("mine"),
    );
    const url = await serve(app.use(skillErrors()));
    expect((await send(url)).body).toEqual([1]);
  });

  test("answers HEAD with headers and no body, and keeps a status that was set before", async () => {
    const { app, one } = newApp();
    app.get("/", skill(one), respond());
    app.post(
      "/created",
      skill(one),
      (_req, res, next) => {
        res.status(201);
        next();
      },
      respond(),
    );
    const url = await serve(app.use(skillErrors()));
    const head = await send(url, { method: "HEAD" });
    expect([head.status, head.text, head.headers.get("content-length")]).toEqual([200, "", '{"n":1}'.length.toString()]);
    expect((await post(`${url}/created`, {})).status).toBe(201);
  });

  test("a missing result says which results there are", async () => {
    const { app, one } = newApp();
    app.post("/none", respond());
    app.post("/skipped", skill(one, { when: () => false }), respond());
    app.post("/other", skill(one), respond("two"));
    app.post("/failed", skill("nosuch", { onError: "continue" }), respond("nosuch"));
    app.post("/proto", skill(one), respond("toString"));
    const url = await serve(app.use(skillErrors()));
    for (const path of ["/none", "/skipped", "/other", "/failed", "/proto"]) {
      expect([path, (await post(url + path, {})).body.code]).toEqual([path, "RESULT_MISSING"]);
    }
    expect((await post(`${url}/other`, {})).body.detail).toMatch(/"two".*one/);
    expect((await post(`${url}/failed`, {})).body.detail).toContain("failed");
  });

  test("a result that cannot be sent goes to next", async () => {
    const { app } = newApp();
    app.post("/", skill("nosuch", { onError: () => ({ big: 1n }) }), respond());
    const url = await serve(app.use(skillErrors()));
    expect((await post(url, {})).status).toBe(500);
  });
});

test.each([[""], [1], [null], [{}]])("respond(%j) is refused when the route is declared", (key) => {
  expect(() => respond(key as string)).toThrow(expect.objectContaining({ code: "INVALID_OPTION" }));
});
