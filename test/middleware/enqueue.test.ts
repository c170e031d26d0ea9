import { describe, expect, test } from "vitest";
import { enqueue, skillErrors } from "../../middleware/index.js";
import { newKit, post, send, serve, until, versions } from "./servers.js";

const textSchema = { type: "object", properties: { text: { type: "string" } }, required: ["text"] } as const;

describe.each(versions)("enqueue() on Express $version", ({ express }) => {
  function newApp(options: Parameters<typeof newKit>[0] = { worker: {} }) {
    const kit = newKit(options);
    const upper = kit.define({ name: "upper", schema: textSchema, handler: ({ text }) => ({ text: text.toUpperCase() }) });
    kit.define({ name: "upper", version: "0.9.0", schema: textSchema, handler: () => "old" });
    const app = express().use(express.json()).use(kit);
    return { kit, app, upper };
  }

  test("answers 202 with the execution, where it is, and when to look; the work runs", async () => {
    const { kit, app, upper } = newApp();
    app.post("/later", enqueue(upper));
    app.post("/ranged", enqueue("upper@^1", { location: "/jobs/" }));
    app.post("/located", enqueue(upper, { location: (execution) => `https://example.org/${execution.id}` }));
    const url = await serve(app.use(skillErrors()));
    const answer = await post(`${url}/later`, { text: "a" });
    const { id } = answer.body;
    expect(answer.status).toBe(202);
    expect(answer.body).toEqual({
      id: expect.any(String),
      status: "QUEUED",
      skillName: "upper",
      skillVersion: "1.0.0",
      createdAt: expect.any(String),
    });
    expect([answer.headers.get("location"), answer.headers.get("retry-after")]).toEqual([`/api/executions/${id}`, "1"]);
    const ranged = await post(`${url}/ranged`, { text: "b" });
    expect(ranged.headers.get("location")).toBe(`/jobs/executions/${ranged.body.id}`);
    const located = await post(`${url}/located`, { text: "c" });
    expect(located.headers.get("location")).toBe(`https://example.org/${located.body.id}`);
    await until(async () => (await kit.executor.countExecutions({ status: "SUCCESS" })) === 3);
    expect(await kit.executor.getExecution(id)).toMatchObject({ output: { text: "A" } });
  });

  test("takes its input as skill() does, and what it says about the time from the request", async () => {
    const { kit, app, upper } = newApp({ worker: false });
    const runAt = new Date(Date.now() + 90_000);
    app.get("/words/:text", enqueue(upper));
    app.post(
      "/made",
      enqueue(upper, {
        input: ({ body }) => ({ text: `${body["word"]}!` }),
        runAt: ({ req }) => (req.headers["x-later"] === undefined ? undefined : runAt),
        jobKey: async ({ body }) => String(body["word"]),
        priority: 5,
        when: (req) => req.query["skip"] === undefined,
      }),
      (_req, res) => void res.json("skipped"),
    );
    const url = await serve(app.use(skillErrors()));
    const { body } = await send(`${url}/words/hello`);
    expect(await kit.executor.getExecution(body.id)).toMatchObject({ input: { text: "hello" }, status: "QUEUED" });
    const later = await post(`${url}/made`, { word: "a" }, { "x-later": "1" });
    expect(Number(later.headers.get("retry-after"))).toBeGreaterThan(80);
    const again = await post(`${url}/made`, { word: "a" });
    expect(again.headers.get("retry-after")).toBe("1");
    expect(await kit.executor.getExecution(later.body.id)).toMatchObject({ status: "CANCELLED", input: { text: "a!" } });
    expect((await post(`${url}/made?skip=1`, { word: "a" })).body).toBe("skipped");
  });

  test("belongs to the caller, whose keys are apart from those of others, also when the client leaves", async () => {
    const { kit, app, upper } = newApp({
      worker: false,
      identify: (req) => ({ apiKeyId: String(req.headers["x-key"]), sessionId: "s1" }),
    });
    app.post("/once", enqueue(upper, { idempotencyKey: ({ req }) => String(req.headers["idempotency-key"]) }));
    const url = await serve(app.use(skillErrors()));
    const from = (key: string) => post(`${url}/once`, { text: "a" }, { "x-key": key, "idempotency-key": "k" });
    const [first, again, other] = [await from("k1"), await from("k1"), await from("k2")];
    expect(again.body.id).toBe(first.body.id);
    expect(other.body.id).not.toBe(first.body.id);
    expect(await kit.executor.getExecution(first.body.id)).toMatchObject({ apiKeyId: "k1", sessionId: "s1" });
  });

  test("hands refusals to next, as problem details", async () => {
    const { app, upper } = newApp();
    app.post("/later", enqueue(upper));
    app.post("/nothing", enqueue("nothing"));
    app.post("/wrong", enqueue(upper, { priority: ({ body }) => Number(body["priority"]) }));
    const url = await serve(app.use(skillErrors()));
    expect((await post(`${url}/later`, { text: 1 })).body).toMatchObject({ status: 422, code: "INVALID_INPUT" });
    expect((await post(`${url}/nothing`, {})).body).toMatchObject({ status: 404, code: "SKILL_NOT_FOUND" });
    expect((await post(`${url}/wrong`, { text: "a", priority: 1e9 })).body).toMatchObject({ code: "INVALID_OPTION" });
    const plain = await send(`${url}/later`, { method: "POST", body: "text", headers: { "content-type": "text/plain" } });
    expect(plain.body).toMatchObject({ status: 415 });
  });

  test("is on req.skills too", async () => {
    const { kit, app, upper } = newApp();
    app.post("/later", async (req, res, next) => {
      try {
        res.json(await req.skills.enqueue(upper, { text: "a" }, { jobKey: "j", timeoutMs: 1_000 }));
      } catch (error) {
        next(error);
      }
    });
    app.post("/wrong", (req, res, next) => {
      req.skills.enqueue(upper, { text: "a" }, { signal: req.skills.signal } as object).then(() => res.json(1), next);
    });
    const url = await serve(app.use(skillErrors()));
    const { body } = await post(`${url}/later`, {});
    expect(body).toMatchObject({ status: "QUEUED", apiKeyId: "default", requestId: expect.any(String) });
    await until(async () => (await kit.executor.getExecution(body.id))?.status === "SUCCESS");
    expect((await post(`${url}/wrong`, {})).body).toMatchObject({ code: "INVALID_OPTION" });
  });
});

test.each([
  ["a malformed reference", "@@", {}, "INVALID_REFERENCE"],
  ["a misspelt option", "x", { jobkey: "a" }, "INVALID_OPTION"],
  ["a location that is no address", "x", { location: "a b\r\n" }, "INVALID_OPTION"],
  ["a location that is no text", "x", { location: 1 }, "INVALID_OPTION"],
  ["a condition that is no function", "x", { when: true }, "INVALID_OPTION"],
  ["an input that is not JSON", "x", { input: 1n }, "INVALID_OPTION"],
])("enqueue() refuses %s when the route is declared", (_, reference, options, code) => {
  expect(() => enqueue(reference, options as object)).toThrow(expect.objectContaining({ code }));
});
