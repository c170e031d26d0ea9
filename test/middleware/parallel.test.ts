import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { parallel, respond, type SkillStep, skill, skillErrors } from "../../middleware/index.js";
import { newKit, post, serve, until, versions } from "./servers.js";

const anything = { type: "object" } as const;

describe.each(versions)("parallel() on Express $version", ({ express }) => {
  function newApp() {
    const kit = newKit();
    return { kit, app: express().use(express.json()).use(kit) };
  }

  test("all steps start at once, and their results are there afterwards", async () => {
    const { kit, app } = newApp();
    let started = 0;
    // Each waits for the other: one after the other they would never end.
    const meet = async () => {
      started++;
      await until(() => started === 2);
      return started;
    };
    const a = kit.define({ name: "a", schema: anything, handler: meet });
    const b = kit.define({ name: "b", schema: anything, handler: meet });
    app.post("/", parallel(skill(a), skill(b)), (req, res) => void res.json([req.skills.results, req.skills.result(a)]));
    const url = await serve(app.use(skillErrors()));
    expect((await post(url, {})).body).toEqual([{ a: 2, b: 2 }, 2]);
  });

  test("the last result is that of the step declared last, whichever ends last", async () => {
    const { kit, app } = newApp();
    const wait = kit.define({
      name: "wait",
      schema: { type: "object", properties: { ms: { type: "integer" } }, required: ["ms"] },
      handler: async ({ ms }) => {
        await delay(ms);
        return ms;
      },
    });
    const step = (ms: number) => skill(wait, { as: `wait${ms}`, input: { ms } });
    app.post("/", parallel(step(1), step(60), step(20)), respond());
    const url = await serve(app.use(skillErrors()));
    expect((await post(url, {})).body).toBe(20);
  });

  test("the first failure aborts the others, and the route fails with it once all have settled", async () => {
    const { kit, app } = newApp();
    let reason: unknown;
    const slow = kit.define({
      name: "slow",
      schema: anything,
      handler: (_input, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => {
            reason = signal.reason;
            reject(signal.reason);
          });
        }),
    });
    const fail = kit.define({
      name: "fail",
      schema: anything,
      handler: async () => {
        await delay(20);
        throw new Error("secret");
      },
    });
    const forgiving = () => "an aborted step does not need forgiving";
    app.post("/", parallel(skill(slow), skill(slow, { as: "other", onError: forgiving }), skill(fail)), respond());
    const url = await serve(app.use(skillErrors()));
    expect(await post(url, {})).toMatchObject({ status: 500, body: { code: "SKILL_FAILED" } });
    expect(reason).toMatchObject({ code: "SKILL_CANCELLED" });
    expect(await kit.executor.countExecutions({ skillName: "slow", status: "CANCELLED" })).toBe(2);
  });

  test("after a failure the group leaves no result", async () => {
    const { kit, app } = newApp();
    const ok = kit.define({ name: "ok", schema: anything, handler: () => 1 });
    let results: unknown;
    app.post("/", skill(ok, { as: "before" }), parallel(skill(ok), skill("nosuch")));
    app.use(((error: unknown, req: { skills: { results: object } }, _res: unknown, next: (error: unknown) => void) => {
      results = { ...req.skills.results };
      next(error);
    }) as never);
    const url = await serve(app.use(skillErrors()));
    expect((await post(url, {})).body.code).toBe("SKILL_NOT_FOUND");
    expect(results).toEqual({ before: 1 });
  });

  test("each step's own `onError` and `when` apply", async () => {
    const { kit, app } = newApp();
    const ok = kit.define({ name: "ok", schema: anything, handler: () => 1 });
    const steps = parallel(
      skill(ok),
      skill("nosuch", { onError: "continue" }),
      skill("nothere", { onError: () => "instead" }),
      skill(ok, { as: "skipped", when: () => false }),
    );
    app.post("/", steps, (req, res) => void res.json([req.skills.results, Object.keys(req.skills.errors)]));
    const url = await serve(app.use(skillErrors()));
    expect((await post(url, {})).body).toEqual([{ ok: 1, nothere: "instead" }, ["nosuch"]]);
  });

  test("groups nest, and an inner failure ends the outer group", async () => {
    const { kit, app } = newApp();
    const ok = kit.define({ name: "ok", schema: anything, handler: () => 1 });
    const hang = kit.define({ name: "hang", schema: anything, handler: () => new Promise(() => {}) });
    app.post("/ok", parallel(skill(ok, { as: "a" }), parallel(skill(ok, { as: "b" }), skill(ok, { as: "c" }))), (req, res) => {
      res.json(req.skills.results);
    });
    app.post("/fails", parallel(skill(hang), parallel(skill(ok), skill("nosuch"))), respond());
    const url = await serve(app.use(skillErrors()));
    expect((await post(`${url}/ok`, {})).body).toEqual({ a: 1, b: 1, c: 1 });
    expect((await post(`${url}/fails`, {})).body.code).toBe("SKILL_NOT_FOUND");
  });
});

describe("the declaration of a group", () => {
  const declare =
    (...steps: unknown[]) =>
    () =>
      parallel(...(steps as SkillStep[]));

  test.each([
    ["no step", [], /at least one/],
    ["a middleware that is no step", [skill("a"), respond()], /Argument 2/],
    ["a reference in place of a step", ["a@1.0.0"], /Argument 1/],
    ["two steps with one key", [skill("a@1.0.0"), skill("a@2.0.0")], /"a".*"as"/],
    ["two steps with one key in a nested group", [skill("a"), parallel(skill("b"), skill("c", { as: "a" }))], /"a"/],
  ])("refuses %s", (_what, steps, message) => {
    expect(declare(...steps)).toThrow(
      expect.objectContaining({ code: "INVALID_OPTION", message: expect.stringMatching(message) }),
    );
  });
});
