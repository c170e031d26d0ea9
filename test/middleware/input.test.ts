import { describe, expect, test } from "vitest";
import { respond, skill, skillErrors } from "../../middleware/index.js";
import { newKit, post, send, serve, versions } from "./servers.js";

function newEcho() {
  const kit = newKit();
  // Takes anything and says what it got.
  const echo = kit.define({ name: "echo", schema: {}, handler: (input) => ({ input }) });
  const typed = kit.define({
    name: "typed",
    schema: {
      type: "object",
      properties: {
        n: { type: "integer" },
        flag: { type: "boolean" },
        tags: { type: "array", items: { type: "string" } },
        id: { type: "string" },
        either: { oneOf: [{ type: "null" }, { type: "string" }] },
      },
      required: ["n"],
      additionalProperties: false,
    },
    handler: (input) => input,
  });
  return { kit, echo, typed };
}

describe.each(versions)("the default input on Express $version", ({ express }) => {
  test("GET takes query and path parameters, parameters win, and strings become what the schema wants", async () => {
    const { kit, typed } = newEcho();
    const queries: unknown[] = [];
    const app = express().use(kit);
    app.get("/:id", skill(typed), (req, res, next) => {
      queries.push(req.query.n);
      respond()(req, res, next);
    });
    const url = await serve(app.use(skillErrors()));
    const answer = await send(`${url}/007?n=1&flag=true&tags=a&id=fromQuery&either=null`);
    expect(answer.body).toEqual({ n: 1, flag: true, tags: ["a"], id: "007", either: "null" });
    expect((await send(`${url}/x?n=2&tags=a&tags=b`)).body).toEqual({ n: 2, tags: ["a", "b"], id: "x" });
    expect(queries).toEqual(["1", "2"]);
    expect(await send(`${url}/x?n=one`)).toMatchObject({ status: 422, body: { faults: [{ pointer: "/n" }] } });
    expect((await send(`${url}/x?n=1&__proto__[polluted]=1&constructor=2`)).status).toBeGreaterThanOrEqual(200);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });

  test("DELETE takes query and path parameters, HEAD too", async () => {
    const { kit, typed } = newEcho();
    const app = express().use(kit);
    app.delete("/:n", skill(typed), respond());
    app.get("/:n", skill(typed), respond());
    const url = await serve(app.use(skillErrors()));
    expect((await send(`${url}/5?flag=false`, { method: "DELETE" })).body).toEqual({ n: 5, flag: false });
    expect(await send(`${url}/5`, { method: "HEAD" })).toMatchObject({ status: 200, text: "" });
    expect(await send(`${url}/five`, { method: "HEAD" })).toMatchObject({ status: 422, text: "" });
  });

  test("GET of a skill that is not there is refused as a call is", async () => {
    const { kit } = newEcho();
    const app = express().use(kit);
    app.get("/", skill("nosuch"), respond());
    const url = await serve(app.use(skillErrors()));
    expect((await send(url)).body.code).toBe("SKILL_NOT_FOUND");
    expect(await kit.executor.countExecutions({ status: "DENIED" })).toBe(1);
  });

  test("no body is an empty object, with a parser and without one", async () => {
    const { kit, echo } = newEcho();
    const app = express().use(kit);
    app.post("/bare", skill(echo), respond());
    app.post("/parsed", express.json(), skill(echo), respond());
    const url = await serve(app.use(skillErrors()));
    for (const path of ["/bare", "/parsed"]) {
      expect((await send(url + path, { method: "POST" })).body).toEqual({ input: {} });
    }
  });

  test("what a parser made passes as it is", async () => {
    const { kit, echo } = newEcho();
    const app = express().use(kit);
    app.post("/json", express.json({ strict: false }), skill(echo), respond());
    app.post("/text", express.text(), skill(echo), respond());
    app.post("/form", express.urlencoded({ extended: false }), skill(echo), respond());
    const url = await serve(app.use(skillErrors()));
    for (const value of [null, [1, 2], "text", 7, false, {}, { a: 1 }]) {
      expect((await post(`${url}/json`, JSON.stringify(value))).body).toEqual({ input: value });
    }
    expect((await post(`${url}/text`, "words", { "content-type": "text/plain" })).body).toEqual({ input: "words" });
    const form = { "content-type": "application/x-www-form-urlencoded" };
    expect((await post(`${url}/form`, "a=1", form)).body).toEqual({ input: { a: "1" } });
  });

  test("a JSON body that nothing parsed says to mount express.json()", async () => {
    const { kit, echo } = newEcho();
    const app = express().use(kit);
    app.post("/", skill(echo), respond());
    app.post("/forms", express.urlencoded({ extended: false }), skill(echo), respond());
    app.post("/continue", skill(echo, { onError: "continue" }), (_req, res) => void res.json("reached"));
    const url = await serve(app.use(skillErrors()));
    for (const path of ["/", "/forms", "/continue"]) {
      const answer = await post(url + path, { a: 1 }, { "content-type": "Application/JSON; charset=utf-8" });
      expect(answer).toMatchObject({ status: 500, body: { code: "BODY_PARSER_MISSING" } });
      expect(answer.body.detail).toContain("express.json()");
    }
  });

  test("a +json body that express.json() did not take says how to make it take it", async () => {
    const { kit, echo } = newEcho();
    const app = express().use(kit);
    app.post("/", express.json(), skill(echo), respond());
    app.post("/cured", express.json({ type: ["application/json", "+json"] }), skill(echo), respond());
    const url = await serve(app.use(skillErrors()));
    const headers = { "content-type": "application/vnd.api+json" };
    const answer = await post(url, { a: 1 }, headers);
    expect(answer.body.code).toBe("BODY_PARSER_MISSING");
    expect(answer.body.detail).toContain("+json");
    expect((await post(`${url}/cured`, { a: 1 }, headers)).body).toEqual({ input: { a: 1 } });
  });

  test("another type that nothing parsed is 415", async () => {
    const { kit, echo } = newEcho();
    const app = express().use(kit);
    app.post("/bare", skill(echo), respond());
    app.post("/parsed", express.json(), skill(echo), respond());
    const url = await serve(app.use(skillErrors()));
    for (const path of ["/bare", "/parsed"]) {
      const answer = await post(url + path, "words", { "content-type": "text/plain" });
      expect(answer).toMatchObject({ status: 415, body: { code: "UNSUPPORTED_MEDIA_TYPE" } });
      const untyped = await send(url + path, { method: "POST", body: new Blob(["words"]) });
      expect(untyped).toMatchObject({ status: 415, body: { code: "UNSUPPORTED_MEDIA_TYPE" } });
    }
    const chunked = new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode("words"));
        controller.close();
      },
    });
    const init = { method: "POST", body: chunked, duplex: "half", headers: { "content-type": "text/plain" } };
    expect((await send(`${url}/bare`, init as RequestInit)).status).toBe(415);
  });

  test("an empty object from a parser is not taken for a missing parser", async () => {
    const { kit, echo } = newEcho();
    const app = express().use(kit);
    app.post("/json", express.json(), skill(echo), respond());
    app.post(
      "/own",
      (req, _res, next) => {
        req.resume().on("end", () => {
          req.body = {};
          next();
        });
      },
      skill(echo),
      respond(),
    );
    const url = await serve(app.use(skillErrors()));
    expect((await post(`${url}/json`, {})).body).toEqual({ input: {} });
    expect((await post(`${url}/own`, "x", { "content-type": "text/csv" })).body).toEqual({ input: {} });
  });

  test("an `input` function sees request, body, query, parameters and results, and may be async", async () => {
    const { kit, echo } = newEcho();
    const app = express().use(express.json()).use(kit);
    app.post(
      "/:id",
      skill(echo, { as: "first", input: { fixed: true } }),
      skill(echo, {
        input: async ({ req, body, query, params, results }) => ({ host: typeof req.headers.host, body, query, params, results }),
      }),
      respond(),
    );
    const url = await serve(app.use(skillErrors()));
    const answer = await post(`${url}/7?q=1`, { a: 1 });
    expect(answer.body.input).toEqual({
      host: "string",
      body: { a: 1 },
      query: { q: "1" },
      params: { id: "7" },
      results: { first: { input: { fixed: true } } },
    });
  });

  test("an `input` function that reads a body nobody parsed is told so; one that does not read it runs", async () => {
    const { kit, echo } = newEcho();
    const app = express().use(kit);
    app.post("/reads", skill(echo, { input: ({ body }) => body.text }), respond());
    app.post("/ignores", skill(echo, { input: ({ query }) => query }), respond());
    const url = await serve(app.use(skillErrors()));
    expect((await post(`${url}/reads`, { text: 1 })).body.code).toBe("BODY_PARSER_MISSING");
    expect((await post(`${url}/ignores?a=1`, { text: 1 })).body).toEqual({ input: { a: "1" } });
  });

  test("errors of the body parser pass through as problem details", async () => {
    const { kit, echo } = newEcho();
    const app = express()
      .use(express.json({ limit: "1kb" }))
      .use(kit);
    app.post("/", skill(echo), respond());
    const url = await serve(app.use(skillErrors()));
    const large = await post(url, { text: "x".repeat(3_000) });
    expect(large).toMatchObject({ status: 413, body: { status: 413, title: "Payload Too Large", type: "about:blank" } });
    expect(large.headers.get("content-type")).toBe("application/problem+json; charset=utf-8");
    const malformed = await post(url, '{"text": nonsense');
    expect(malformed).toMatchObject({ status: 400, body: { status: 400, title: "Bad Request" } });
    expect(malformed.text).not.toContain("node_modules");
  });
});
