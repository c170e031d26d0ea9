import { describe, expect, test } from "vitest";
import { isSkillError, type RequestSkills, skill, skillErrors } from "../../middleware/index.js";
import { newKit, post, send, serve, versions } from "./servers.js";

describe.each(versions)("req.skills on Express $version", ({ express }) => {
  /** Runs `use` with the `req.skills` of a request and answers with what it gives. */
  async function within(
    use: (skills: RequestSkills, kit: ReturnType<typeof define>) => unknown,
    init: RequestInit = {},
    before?: (req: object) => void,
  ) {
    const kit = newKit();
    const defined = define(kit);
    const app = express().use((req, _res, next) => {
      before?.(req);
      next();
    });
    app.use(kit).get("/", (req, res, next) => {
      Promise.resolve(use(req.skills, defined)).then((value) => res.json(value ?? null), next);
    });
    return await send(await serve(app.use(skillErrors())), init);
  }

  function define(kit: ReturnType<typeof newKit>) {
    const add = kit.define({
      name: "add",
      schema: { type: "object", properties: { a: { type: "number" }, b: { type: "number" } }, required: ["a", "b"] },
      handler: ({ a, b }, { requestId }) => ({ sum: a + b, requestId }),
    });
    const fail = kit.define({
      name: "fail",
      schema: { type: "object" },
      handler: () => {
        throw new Error("broken");
      },
    });
    const slow = kit.define({ name: "slow", schema: { type: "object" }, handler: () => new Promise(() => {}) });
    return { add, fail, slow };
  }

  test("run() gives the output, execute() the execution", async () => {
    const answer = await within(async (skills, { add, fail }) => {
      const execution = await skills.execute(add, { a: 1, b: 2 });
      const failed = await skills.execute(fail, {});
      return [
        await skills.run("add@^1", { a: 1, b: 1 }),
        execution.status,
        execution.output?.sum,
        failed.status,
        failed.errorCode,
      ];
    });
    expect(answer.body).toMatchObject([{ sum: 2 }, "SUCCESS", 3, "ERROR", "SKILL_FAILED"]);
  });

  test("run() throws, and what it throws is rendered", async () => {
    expect((await within((skills, { fail }) => skills.run(fail, {}))).body.code).toBe("SKILL_FAILED");
    expect((await within((skills) => skills.run("add", {}))).body).toMatchObject({ status: 422, code: "INVALID_INPUT" });
    expect((await within((skills) => skills.execute("@@", {}))).body.code).toBe("INVALID_REFERENCE");
  });

  test("a call has its own limits, but not a caller of its own", async () => {
    expect((await within((skills, { slow }) => skills.run(slow, {}, { timeoutMs: 20 }))).body.code).toBe("SKILL_TIMEOUT");
    const signal = AbortSignal.timeout(20);
    expect((await within((skills, { slow }) => skills.run(slow, {}, { signal }))).body.code).toBe("SKILL_CANCELLED");
    const owner = { apiKeyId: "root" } as object;
    expect((await within((skills, { slow }) => skills.run(slow, {}, owner))).body.code).toBe("INVALID_OPTION");
    expect((await within((skills, { slow }) => skills.execute(slow, {}, { signal: 1 as never }))).body.code).toBe(
      "INVALID_OPTION",
    );
  });

  test("result() without a result throws RESULT_MISSING", async () => {
    expect((await within((skills, { add }) => skills.result(add))).body.code).toBe("RESULT_MISSING");
    for (const odd of [undefined, null, "add", {}, 7]) {
      expect((await within((skills) => skills.result(odd as never))).body.code).toBe("RESULT_MISSING");
    }
  });

  test("the request's id is req.id, else x-request-id, else a new UUID; and it reaches handler and audit", async () => {
    const requestId = (skills: RequestSkills) => skills.requestId;
    const header = (value: string) => ({ headers: { "x-request-id": value } });
    const uuid = /^[0-9a-f]{8}-[0-9a-f-]{27}$/;
    expect((await within(requestId)).body).toMatch(uuid);
    expect((await within(requestId, header("from-proxy"))).body).toBe("from-proxy");
    expect((await within(requestId, header("x".repeat(129)))).body).toMatch(uuid);
    expect((await within(requestId, header("two words"))).body).toMatch(uuid);
    expect((await within(requestId, header("caf\u00e9"))).body).toMatch(uuid);
    const withId = (id: unknown) => (req: object) => void Object.assign(req, { id });
    expect((await within(requestId, header("from-proxy"), withId("own"))).body).toBe("own");
    expect((await within(requestId, header("from-proxy"), withId(7))).body).toBe("from-proxy");
    expect((await within(requestId, {}, withId("line\nbreak"))).body).toMatch(uuid);
    const run = async (skills: RequestSkills) => [
      await skills.run("add", { a: 1, b: 1 }),
      (await skills.executor.listExecutions())[0]?.requestId,
    ];
    expect((await within(run, header("r-9"))).body).toEqual([{ sum: 2, requestId: "r-9" }, "r-9"]);
  });

  test("registry and executor are the kit's, and results and errors have no prototype", async () => {
    const answer = await within(async (skills) => [
      (await skills.registry.getSkill("add"))?.version,
      typeof skills.executor.execute,
      Object.getPrototypeOf(skills.results),
      Object.getPrototypeOf(skills.errors),
      skills.signal.aborted,
    ]);
    expect(answer.body).toEqual(["1.0.0", "function", null, null, false]);
  });

  test("errors of a call can be told apart by code", async () => {
    const answer = await within((skills) =>
      skills.run("nosuch@1.0.0", {}).catch((error: unknown) => isSkillError(error) && [error.code, error.status]),
    );
    expect(answer.body).toEqual(["SKILL_NOT_FOUND", 404]);
  });

  test("result() gives the output of the handle's own step, whatever another step left under its name", async () => {
    const kit = newKit();
    const { add } = define(kit);
    kit.define({ name: "add", version: "2.0.0", schema: { type: "object" }, handler: () => "another shape" });
    const app = express().use(express.json()).use(kit);
    app.post(
      "/",
      skill(add),
      skill("add@2.0.0"),
      (req, res) => void res.json([req.skills.result(add).sum, req.skills.results.add]),
    );
    app.post("/exact", skill("add@1.0.0", { as: "x" }), (req, res) => void res.json(req.skills.result(add).sum));
    const url = await serve(app.use(skillErrors()));
    expect((await post(url, { a: 1, b: 2 })).body).toEqual([3, "another shape"]);
    expect((await post(`${url}/exact`, { a: 1, b: 3 })).body).toBe(4);
  });
});
