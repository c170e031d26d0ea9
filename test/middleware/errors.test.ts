import type { IncomingMessage } from "node:http";
import createError from "http-errors";
import { describe, expect, test, vi } from "vitest";
import { errorTable, SkillError, type SkillErrorCode, skillErrors } from "../../middleware/index.js";
import { memoryLogger, newKit, send, serve, versions } from "./servers.js";

const codes = Object.keys(errorTable) as SkillErrorCode[];

describe.each(versions)("skillErrors() on Express $version", ({ express }) => {
  /** Serves an application whose route fails with `error`. */
  async function failing(error: unknown, logger = memoryLogger()) {
    const app = express().use(newKit({ logger }));
    app.get("/fails", (_req, _res, next) => next(error));
    return { url: `${await serve(app.use(skillErrors()))}/fails`, logger };
  }

  test.each(codes)("%s is rendered with its status, and its text only where the table allows it", async (code) => {
    const { status, expose, title } = errorTable[code];
    const error = new SkillError(code, "What happened to row 7.", {
      cause: new Error("secret cause"),
      executionId: "e-1",
      faults: [{ pointer: "/text", message: "must be a string" }],
    });
    const { url, logger } = await failing(error);
    const answer = await send(`${url}?token=secret`, { headers: { "x-request-id": "r-1" } });
    expect(answer.status).toBe(status);
    expect(answer.headers.get("content-type")).toBe("application/problem+json; charset=utf-8");
    expect(answer.body).toEqual({
      type: `urn:express-skills:error:${code.toLowerCase().replaceAll("_", "-")}`,
      title,
      status,
      detail: expose ? "What happened to row 7." : title,
      instance: "/fails",
      code,
      requestId: "r-1",
      executionId: "e-1",
      ...(expose && { faults: [{ pointer: "/text", message: "must be a string" }] }),
    });
    expect(answer.text).not.toMatch(/secret|stack|node_modules|\.ts:/);
    const logged = logger.lines.filter((line) => line.level === "error");
    expect(logged).toHaveLength(status >= 500 ? 1 : 0);
    if (status >= 500) expect(logged[0]?.fields).toMatchObject({ requestId: "r-1", code, err: error, path: "/fails" });
  });

  test("a handler's own 4xx keeps its status; a 5xx cannot be exposed by the error itself", async () => {
    const meant = await failing(new SkillError("SKILL_FAILED", "No such city.", { status: 404, expose: true }));
    expect(await send(meant.url)).toMatchObject({ status: 404, body: { detail: "No such city.", code: "SKILL_FAILED" } });
    const hidden = await failing(new SkillError("INVALID_INPUT", "secret", { expose: false }));
    expect((await send(hidden.url)).body.detail).toBe(errorTable.INVALID_INPUT.title);
    const server = await failing(new SkillError("SKILL_FAILED", "secret", { status: 502, expose: true }));
    expect(await send(server.url)).toMatchObject({ status: 502, body: { detail: errorTable.SKILL_FAILED.title } });
  });

  test("Retry-After and other headers of an error are sent", async () => {
    const busy = await failing(new SkillError("SKILL_BUSY", "Full.", { retryAfterMs: 1_200 }));
    expect((await send(busy.url)).headers.get("retry-after")).toBe("2");
    const odd = { "X-Allowed": "yes", "bad name": "x", "X-Bad": "a\nb", "Content-Type": "text/html", "Content-Length": "1" };
    const allowed = await failing(createError(405, "not here", { headers: odd }));
    const answer = await send(allowed.url);
    expect([answer.status, answer.headers.get("x-allowed"), answer.headers.get("x-bad")]).toEqual([405, "yes", null]);
    expect(answer.body.detail).toBe("not here");
  });

  test("errors of http-errors are rendered with their status, and their text if they expose it", async () => {
    const cases: [unknown, number, string][] = [
      [createError(413, "request entity too large"), 413, "request entity too large"],
      [createError(403, "secret", { expose: false }), 403, "Forbidden"],
      [createError(503, "secret"), 503, "Service Unavailable"],
      [createError(502, "secret", { expose: true }), 502, "Bad Gateway"],
      [Object.assign(new Error("secret"), { status: 404 }), 404, "Not Found"],
      [Object.assign(new Error("secret"), { statusCode: 409 }), 409, "Conflict"],
      [{ status: 400, expose: true, message: "plain object" }, 400, "plain object"],
      [{ status: 400, expose: true, message: { secret: 1 } }, 400, "Bad Request"],
      [createError(400, "x".repeat(5_000)), 400, `${"x".repeat(1_999)}…`],
    ];
    for (const [error, status, detail] of cases) {
      const answer = await send((await failing(error)).url);
      expect(answer).toMatchObject({ status, body: { status, detail, type: "about:blank" } });
      expect(answer.body).not.toHaveProperty("code");
      expect(answer.text).not.toContain("secret");
    }
  });

  test("anything else is a 500 with constant text, and is logged", async () => {
    const trap = new Proxy(
      {},
      {
        get() {
          throw new Error("secret trap");
        },
      },
    );
    const odd = ["secret", 42, Symbol("secret"), { status: 200 }, { status: "400" }, { status: 4000 }, () => "secret", [], trap];
    for (const error of [...odd, new TypeError("secret"), Object.assign(new Error("secret"), { status: Number.NaN })]) {
      const { url, logger } = await failing(error);
      const answer = await send(url);
      expect(answer).toMatchObject({ status: 500, body: { title: "Internal Server Error", detail: "Internal Server Error" } });
      expect(answer.text).not.toContain("secret");
      expect(logger.lines).toMatchObject([{ level: "error", message: "A request failed" }]);
      expect(Object.is(logger.lines[0]?.fields.err, error)).toBe(true);
    }
  });

  test("headers that were meant for the answer that failed are taken back", async () => {
    const app = express().use(newKit());
    app.get("/", (_req, res, next) => {
      res.set({
        ETag: '"1"',
        "Content-Encoding": "gzip",
        "Cache-Control": "public, max-age=600",
        "Access-Control-Allow-Origin": "*",
      });
      next(createError(404, "gone"));
    });
    const { headers, body } = await send(await serve(app.use(skillErrors())));
    expect(body.detail).toBe("gone");
    const names = ["etag", "content-encoding", "cache-control", "access-control-allow-origin", "x-content-type-options"];
    expect(names.map((name) => headers.get(name))).toEqual([null, null, "no-store", "*", "nosniff"]);
  });

  test("HEAD gets the headers of the problem without its body", async () => {
    const { url } = await failing(new SkillError("SKILL_NOT_FOUND", "No skill x."));
    const answer = await send(url, { method: "HEAD" });
    expect([answer.status, answer.text]).toEqual([404, ""]);
    expect(Number(answer.headers.get("content-length"))).toBeGreaterThan(100);
  });

  test("when an answer was begun, the error goes to the next handler", async () => {
    const app = express().use(newKit());
    app.get("/", (_req, res, next) => {
      res.write("begun");
      next(new SkillError("SKILL_FAILED", "secret"));
    });
    app.use(skillErrors());
    let passed: unknown;
    app.use(((error: unknown, _req: unknown, res: { end(): void }, _next: unknown) => {
      passed = error;
      res.end();
    }) as never);
    expect((await send(await serve(app))).text).toBe("begun");
    expect(passed).toMatchObject({ code: "SKILL_FAILED" });
  });

  test("the logger can be another one, and without a kit the console is the last resort", async () => {
    const logger = memoryLogger();
    const app = express();
    app.get("/", (_req, _res, next) => next(new Error("broken")));
    const own = await send(await serve(app.use(skillErrors({ logger }))));
    expect(logger.lines).toMatchObject([{ fields: { requestId: own.body.requestId } }]);

    const write = vi.spyOn(console, "error").mockImplementation(() => {});
    try {
      const bare = express();
      bare.get("/", (_req, _res, next) => next(new Error("broken")));
      const { body } = await send(await serve(bare.use(skillErrors())));
      expect(write).toHaveBeenCalledExactlyOnceWith("A request failed", expect.objectContaining({ requestId: body.requestId }));
    } finally {
      write.mockRestore();
    }
  });

  test("the path in problem and log has no query", async () => {
    const logger = memoryLogger();
    const app = express().use(newKit({ logger }));
    const router = express.Router();
    router.get("/inner", (_req: IncomingMessage, _res, next) => next(new Error("broken")));
    app.use("/outer", router);
    const answer = await send(`${await serve(app.use(skillErrors()))}/outer/inner?key=secret`);
    expect(answer.body.instance).toBe("/outer/inner");
    expect(JSON.stringify([answer.body, logger.lines[0]?.fields.path])).not.toContain("secret");
  });
});

test("the handler has four parameters, without which Express would not call it for errors", () => {
  expect(skillErrors()).toHaveLength(4);
});

test.each([
  ["an unknown option", { loger: {} }],
  ["a logger without error()", { logger: {} }],
  ["a logger that is no object", { logger: "console" }],
  ["options that are no object", "x"],
])("skillErrors() refuses %s", (_what, options) => {
  expect(() => skillErrors(options as never)).toThrow(expect.objectContaining({ code: "INVALID_OPTION" }));
});
