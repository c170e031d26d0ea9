import createError from "http-errors";
import { describe, expect, test } from "vitest";
import { respond, SkillError, type SkillStep, skill, skillErrors } from "../../middleware/index.js";
import { newKit, post, send, serve, until, versions } from "./servers.js";

const textSchema = { type: "object", properties: { text: { type: "string" } }, required: ["text"] } as const;

function newWords(options?: Parameters<typeof newKit>[0]) {
  const kit = newKit(options);
  const upper = kit.define({ name: "upper", schema: textSchema, handler: ({ text }) => ({ text: text.toUpperCase() }) });
  const count = kit.define({ name: "count", schema: textSchema, handler: ({ text }) => text.split(/\s+/).length });
  const fail = kit.define({
    name: "fail",
    schema: { type: "object" },
    handler: (): unknown => {
      throw new Error("password=hunter2 in postgres://root:hunter2@db/x");
    },
  });
  return { kit, upper, count, fail };
}

describe.each(versions)("skill() on Express $version", ({ express }) => {
  function newApp(options?: Parameters<typeof newKit>[0]) {
    const words = newWords(options);
    const app = express().use(express.json()).use(words.kit);
    return { ...words, app };
  }

  test("a route runs a skill on its body, given by handle or by reference", async () => {
    const { app, upper } = newApp();
    app.post("/handle", skill(upper), respond());
    app.post("/pinned", skill("upper@^1.0.0"), (req, res) => void res.json(req.skills.results.upper));
    const url = await serve(app.use(skillErrors()));
    expect((await post(`${url}/handle`, { text: "a" })).body).toEqual({ text: "A" });
    expect((await post(`${url}/pinned`, { text: "b" })).body).toEqual({ text: "B" });
  });

  test("steps run in order, and later ones take their input from earlier results", async () => {
    const { app, upper, count } = newApp();
    app.post(
      "/",
      skill(upper),
      skill(count, { input: ({ results }) => results.upper, as: "words" }),
      skill(count, { input: async ({ req }) => req.skills.result(upper), as: "again" }),
      (req, res) => void res.json(req.skills.results),
    );
    const url = await serve(app.use(skillErrors()));
    expect((await post(url, { text: "one two" })).body).toEqual({ upper: { text: "ONE TWO" }, words: 2, again: 2 });
  });

  test("it works as app.use, on a Router, and in a mounted application", async () => {
    const { app, upper } = newApp();
    app.use("/used", skill(upper), respond());
    const router = express.Router({ mergeParams: true });
    router.post("/", skill(upper, { input: ({ params }) => ({ text: params.word }) }), respond());
    app.use("/router/:word", router);
    app.use("/sub", express().post("/x", skill(upper), respond()));
    const url = await serve(app.use(skillErrors()));
    expect((await post(`${url}/used`, { text: "a" })).body).toEqual({ text: "A" });
    expect((await post(`${url}/router/abc`, {})).body).toEqual({ text: "ABC" });
    expect((await post(`${url}/sub/x`, { text: "c" })).body).toEqual({ text: "C" });
  });

  test("a rejected call ends in the error handler and does not hang", async () => {
    const { app, fail } = newApp();
    app.post("/", skill(fail), respond());
    const url = await serve(app.use(skillErrors()));
    const answer = await post(url, {});
    expect(answer.status).toBe(500);
    expect(answer.body.code).toBe("SKILL_FAILED");
    expect(answer.text).not.toContain("hunter2");
  });

  test("any error handler can render the errors, as it does those of http-errors", async () => {
    const { app, upper } = newApp();
    app.post("/", skill(upper), respond());
    const seen: SkillError[] = [];
    app.use(((error: SkillError, _req: unknown, res: { status(code: number): { end(text: string): void } }, _next: unknown) => {
      seen.push(error);
      res.status(error.statusCode).end(error.message);
    }) as never);
    const url = await serve(app);
    expect((await post(url, {})).status).toBe(422);
    expect(seen[0]).toBeInstanceOf(SkillError);
    expect(seen[0]?.expose).toBe(true);
  });

  test("`when` skips a step, also asynchronously, and a skipped step leaves no result", async () => {
    const { app, upper, count } = newApp();
    app.post(
      "/",
      skill(count, { when: async (req) => req.headers["x-count"] === "yes" }),
      skill(upper, { when: () => true }),
      (req, res) => void res.json(Object.keys(req.skills.results)),
    );
    const url = await serve(app.use(skillErrors()));
    expect((await post(url, { text: "a" })).body).toEqual(["upper"]);
    expect((await post(url, { text: "a" }, { "x-count": "yes" })).body).toEqual(["count", "upper"]);
  });

  test('`onError: "continue"` keeps the error, and the route goes on without the result', async () => {
    const { app, fail, upper } = newApp();
    app.post("/", skill(fail, { onError: "continue" }), skill(upper, { onError: "continue", as: "other" }), (req, res) => {
      const { errors, results } = req.skills;
      res.json({ codes: Object.entries(errors).map(([key, error]) => [key, error.code]), results });
    });
    const url = await serve(app.use(skillErrors()));
    const { body } = await post(url, {});
    expect(body).toEqual({
      codes: [
        ["fail", "SKILL_FAILED"],
        ["other", "INVALID_INPUT"],
      ],
      results: {},
    });
  });

  test("the value of an `onError` function becomes the result, and what it throws goes to next", async () => {
    const { app, fail } = newApp();
    app.post("/value", skill(fail, { onError: async (error, req) => ({ code: error.code, path: req.originalUrl }) }), respond());
    app.post("/nothing", skill(fail, { onError: () => undefined }), respond());
    const rethrow = () => {
      throw createError(418, "short and stout");
    };
    app.post("/throws", skill(fail, { onError: rethrow }), respond());
    const url = await serve(app.use(skillErrors()));
    expect((await post(`${url}/value`, {})).body).toEqual({ code: "SKILL_FAILED", path: "/value" });
    expect((await post(`${url}/nothing`, {})).body).toBe(null);
    expect(await post(`${url}/throws`, {})).toMatchObject({ status: 418, body: { detail: "short and stout" } });
  });

  test("what `when` or `input` throw goes to next whatever `onError` says, even when it is no Error", async () => {
    const { app, upper } = newApp();
    const thrower = (value: unknown) => () => {
      throw value;
    };
    const reached: string[] = [];
    const then = (req: { path: string }, res: { end(): void }) => {
      reached.push(req.path);
      res.end();
    };
    app.post("/when", skill(upper, { when: thrower(createError(409, "not now")), onError: "continue" }), then);
    app.post("/input", skill(upper, { input: thrower(createError(400, "no text")), onError: "continue" }), then);
    for (const [index, value] of [undefined, null, "route", "router", 0, Symbol("odd")].entries()) {
      app.post(`/odd/${index}`, skill(upper, { input: thrower(value) }), then);
    }
    app.post("/rejects", skill(upper, { input: () => Promise.reject() }), then);
    const url = await serve(app.use(skillErrors()));
    expect(await post(`${url}/when`, {})).toMatchObject({ status: 409, body: { detail: "not now" } });
    expect(await post(`${url}/input`, {})).toMatchObject({ status: 400, body: { detail: "no text" } });
    for (let index = 0; index < 6; index++) expect((await post(`${url}/odd/${index}`, {})).status).toBe(500);
    expect((await post(`${url}/rejects`, {})).status).toBe(500);
    expect(reached).toEqual([]);
  });

  test("`timeoutMs` ends the call, and the handler's signal says why", async () => {
    const { app, kit } = newApp();
    let reason: unknown;
    const slow = kit.define({
      name: "slow",
      schema: { type: "object" },
      handler: (_input, { signal }) =>
        new Promise((resolve) => {
          signal.addEventListener("abort", () => {
            reason = signal.reason;
            resolve("late");
          });
        }),
    });
    app.post("/", skill(slow, { timeoutMs: 30 }), respond());
    const url = await serve(app.use(skillErrors()));
    expect(await post(url, {})).toMatchObject({ status: 504, body: { code: "SKILL_TIMEOUT" } });
    expect(reason).toMatchObject({ code: "SKILL_TIMEOUT" });
  });

  test("scoped names and hostile result keys are ordinary keys", async () => {
    const { app, kit } = newApp();
    kit.define({ name: "@org/tool", version: "1.2.0", schema: { type: "object" }, handler: () => "tool" });
    app.post("/scoped", skill("@org/tool@^1.1"), respond("@org/tool"));
    app.post("/proto", skill("@org/tool", { as: "__proto__" }), skill("@org/tool", { as: "constructor" }), (req, res) => {
      const { results } = req.skills;
      res.json([Object.getPrototypeOf(results), Object.keys(results), results["toString"] === undefined, "polluted" in {}]);
    });
    app.post("/respond", skill("@org/tool", { as: "__proto__" }), respond("__proto__"));
    const url = await serve(app.use(skillErrors()));
    expect((await post(`${url}/scoped`, {})).body).toBe("tool");
    expect((await post(`${url}/proto`, {})).body).toEqual([null, ["__proto__", "constructor"], true, false]);
    expect((await post(`${url}/respond`, {})).body).toBe("tool");
  });

  test("two requests with one written-down input do not share it", async () => {
    const { app, kit } = newApp();
    const mutate = kit.define({
      name: "mutate",
      schema: { type: "object", properties: { list: { type: "array" } } },
      handler: (input) => {
        const { list } = input as { list: number[] };
        list.push(list.length);
        return list;
      },
    });
    app.post("/", skill(mutate, { input: { list: [] } }), respond());
    const url = await serve(app.use(skillErrors()));
    expect((await post(url, {})).body).toEqual([0]);
    expect((await post(url, {})).body).toEqual([0]);
  });

  test("refusals have their status and code", async () => {
    const { app, kit } = newApp();
    await kit.ready();
    await kit.registry.register({ name: "orphan", schema: { type: "object" }, handler: "nobody" });
    await kit.registry.register({ name: "closed", schema: { type: "object" }, handler: "nobody", enabled: false });
    const references = ["nosuch", "orphan", "closed@1.0.0", "upper@^2", "upper"];
    for (const [index, reference] of references.entries()) app.post(`/${index}`, skill(reference), respond());
    const url = await serve(app.use(skillErrors()));
    const answers = [];
    for (const index of references.keys()) {
      const { status, body } = await post(`${url}/${index}`, {});
      answers.push([status, body.code]);
    }
    expect(answers).toEqual([
      [404, "SKILL_NOT_FOUND"],
      [501, "HANDLER_NOT_FOUND"],
      [409, "SKILL_DISABLED"],
      [404, "SKILL_NOT_FOUND"],
      [422, "INVALID_INPUT"],
    ]);
  });

  test("a handler's own 4xx passes through only when it says expose", async () => {
    const { app, kit } = newApp();
    const throwing = (name: string, value: unknown) =>
      app.post(
        `/${name}`,
        skill(
          kit.define({
            name,
            schema: { type: "object" },
            handler: () => {
              throw value;
            },
          }),
        ),
        respond(),
      );
    throwing("httpError", createError(404, "no such city"));
    throwing("hidden", createError(404, "secret city", { expose: false }));
    throwing("server", createError(502, "secret upstream", { expose: true }));
    throwing("plainValue", "secret text");
    throwing("nothing", undefined);
    const url = await serve(app.use(skillErrors()));
    expect(await post(`${url}/httpError`, {})).toMatchObject({
      status: 404,
      body: { code: "SKILL_FAILED", detail: "no such city" },
    });
    for (const name of ["hidden", "server", "plainValue", "nothing"]) {
      const answer = await post(`${url}/${name}`, {});
      expect([name, answer.status, answer.body.code]).toEqual([name, 500, "SKILL_FAILED"]);
      expect(answer.text).not.toContain("secret");
    }
  });

  test("output that is not JSON is an error of the skill, after which the server goes on", async () => {
    const { app, kit, upper } = newApp();
    const odd = kit.define({ name: "odd", schema: { type: "object" }, handler: () => ({ big: 1n }) });
    app.post("/odd", skill(odd), respond());
    app.post("/upper", skill(upper), respond());
    const url = await serve(app.use(skillErrors()));
    expect(await post(`${url}/odd`, {})).toMatchObject({ status: 500, body: { code: "INVALID_OUTPUT" } });
    expect((await post(`${url}/upper`, { text: "a" })).status).toBe(200);
  });

  test("a step without a kit says how to mount one", async () => {
    const app = express().use(express.json());
    app.post("/", skill("upper"), respond());
    app.get("/", respond());
    const lines: object[] = [];
    const url = await serve(app.use(skillErrors({ logger: { error: (fields) => void lines.push(fields) } })));
    const answer = await post(url, {});
    expect(answer).toMatchObject({ status: 500, body: { code: "KIT_MISSING" } });
    expect(answer.body.detail).toContain("app.use(skills())");
    expect((await send(url)).body.code).toBe("KIT_MISSING");
    expect(lines).toMatchObject([{ code: "KIT_MISSING" }, { code: "KIT_MISSING" }]);
  });

  test("every call is in the audit with the request's id", async () => {
    const { app, kit, upper } = newApp();
    app.post("/", skill(upper), respond());
    const url = await serve(app.use(skillErrors()));
    await post(url, { text: "a" }, { "x-request-id": "r-1" });
    await post(url, { text: 1 }, { "x-request-id": "r-2" });
    await until(async () => (await kit.executor.countExecutions()) === 2);
    const rows = await kit.executor.listExecutions();
    expect(rows.map(({ requestId, status, skillVersion }) => [requestId, status, skillVersion]).toSorted()).toEqual([
      ["r-1", "SUCCESS", "1.0.0"],
      ["r-2", "DENIED", "1.0.0"],
    ]);
  });
});

describe("the declaration of a step", () => {
  const declare =
    (...given: unknown[]): (() => SkillStep) =>
    () =>
      (skill as (...args: unknown[]) => SkillStep)(...given);

  test.each([
    ["an empty reference", ""],
    ["a malformed range", "upper@^^1"],
    ["a version with build metadata", "upper@1.0.0+x"],
    ["a name that starts with a digit", "1upper"],
    ["no reference", undefined],
    ["a number", 7],
    ["an object that is no handle", {}],
  ])("refuses %s", (_what, reference) => {
    expect(declare(reference)).toThrow(expect.objectContaining({ code: "INVALID_REFERENCE" }));
  });

  test.each([
    ["a misspelt option, naming the nearest", { tiemoutMs: 5 }, /"tiemoutMs".*"timeoutMs"/],
    ["options that are no object", "fast", /object/],
    ["an empty key", { as: "" }, /as /],
    ["a key that is no text", { as: 1 }, /as /],
    ["`when` that is no function", { when: true }, /when /],
    ["an unknown `onError`", { onError: "ignore" }, /"continue"/],
    ["a zero time limit", { timeoutMs: 0 }, /timeoutMs/],
    ["a fractional time limit", { timeoutMs: 1.5 }, /timeoutMs/],
    ["a time limit that timers can't hold", { timeoutMs: 2 ** 31 }, /timeoutMs/],
    ["input that is not JSON", { input: 1n }, /input /],
    ["input that is a symbol", { input: Symbol("x") }, /input /],
  ])("refuses %s", (_what, options, message) => {
    expect(declare("upper", options)).toThrow(
      expect.objectContaining({ code: "INVALID_OPTION", message: expect.stringMatching(message) }),
    );
  });

  test("takes undefined options as absent", () => {
    const options = { input: undefined, as: undefined, when: undefined, timeoutMs: undefined, onError: undefined };
    expect(declare("upper", options)()).toBeTypeOf("function");
    expect(declare("upper", undefined)()).toHaveLength(3);
  });
});
