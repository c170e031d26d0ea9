import { request } from "node:http";
import compression from "compression";
import express5 from "express";
import helmet from "helmet";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { skillErrors, skillsApi } from "../../../middleware/index.js";
import { type Express, newKit, send, serve, versions } from "../servers.js";
import { authorize, identityHeaders, openApi, readEvents } from "./api.js";

const admin = { ...identityHeaders("admin", "key"), "content-type": "application/json" };

describe("a body", () => {
  test.each([
    ["", 422],
    ["{", 400],
    ["undefined", 400],
    ['{"a":1}{"b":2}', 400],
    ["\ufeff{}", 422],
    [Buffer.from([0x22, 0xff, 0x22]), 400],
    ["[".repeat(50_000), 400],
    [`${"[".repeat(40_000)}${"]".repeat(40_000)}`, 422],
    ["null", 422],
    ["1e400", 422],
    ['{"__proto__":{"name":"x"},"constructor":1}', 422],
  ])("%j is answered with %i, as problem details", async (body, status) => {
    const api = await openApi();
    const answer = await send(`${api.url}/skills`, { method: "POST", headers: admin, body });
    expect([answer.status, answer.headers.get("content-type")]).toEqual([status, "application/problem+json; charset=utf-8"]);
    expect(({} as Record<string, unknown>)["name"]).toBeUndefined();
  });

  test("over the limit is refused, whether its length is known before or not, and the connection can be used again", async () => {
    const api = await openApi({ maxBodyBytes: 1_000 });
    for (const body of ["x".repeat(2_000), new Blob(["y".repeat(2_000_000)]).stream()]) {
      const answer = await send(`${api.url}/skills`, { method: "POST", headers: admin, body, duplex: "half" } as RequestInit);
      expect(answer.body).toMatchObject({ status: 413, code: "BODY_TOO_LARGE" });
    }
    expect((await send(`${api.url}/skills`, { headers: admin })).status).toBe(200);
  });

  test("of 100 kB is read by default, and more is not", async () => {
    const api = await openApi();
    const run = (length: number) => api.as("caller")("POST", "skills/echo/executions", { body: { text: "x".repeat(length) } });
    expect((await run(102_000)).status).toBe(201);
    expect((await run(103_000)).status).toBe(413);
  });

  test("that never ends is not waited for once its client has left", async () => {
    const api = await openApi();
    const { port } = new URL(api.url);
    const sent = request({ port, path: "/api/skills", method: "POST", headers: { ...admin, "content-length": "100" } });
    sent.on("error", () => {});
    sent.write("{");
    await new Promise((resolve) => setTimeout(resolve, 100));
    sent.destroy();
    expect((await send(`${api.url}/skills`, { headers: admin })).status).toBe(200);
  });

  test("that is compressed is refused by this router, and read when the application's parser did", async () => {
    const api = await openApi();
    const answer = await send(`${api.url}/skills`, {
      method: "POST",
      headers: { ...admin, "content-encoding": "gzip" },
      body: "x",
    });
    expect(answer.body).toMatchObject({ status: 415, code: "UNSUPPORTED_MEDIA_TYPE" });
  });
});

describe.each(versions)("on Express $version", ({ express }: { express: Express }) => {
  const routes = (kit = newKit()) => {
    kit.define({ name: "echo", schema: { type: "object" }, handler: (input) => input });
    return { kit, api: skillsApi({ authorize, kit }) };
  };

  test.each([
    ["no parser", () => []],
    ["express.json() before it", (e: Express) => [e.json()]],
    ["express.raw() before it", (e: Express) => [e.raw({ type: () => true })]],
    ["parsers of other types before it", (e: Express) => [e.urlencoded({ extended: true }), e.text()]],
    ["helmet and compression before it", () => [helmet(), compression()]],
  ] as const)("a body arrives with %s", async (_, before) => {
    const { api } = routes();
    const app = express();
    for (const handler of before(express)) app.use(handler);
    app.use("/a/b", api);
    const url = await serve(app);
    const answer = await send(`${url}/a/b/skills/echo/executions`, { method: "POST", headers: admin, body: '{"n":1}' });
    expect([answer.status, answer.body.output]).toEqual([201, { n: 1 }]);
    const empty = await send(`${url}/a/b/skills/echo/executions`, { method: "POST", headers: admin });
    expect([empty.status, empty.body.output]).toEqual([201, {}]);
  });

  test("an error of the application's parser is the application's to answer", async () => {
    const app = express();
    app.use(express.json({ limit: 100 }), skillsApi({ authorize, kit: routes().kit }), skillErrors());
    const answer = await send(`${await serve(app)}/skills`, {
      method: "POST",
      headers: admin,
      body: JSON.stringify("x".repeat(200)),
    });
    expect(answer.body).toMatchObject({ status: 413, type: "about:blank" });
  });

  test.each(["/", "/deep/er/", "/v1.0"])("works mounted at %s, with and without a slash at the end", async (mount) => {
    const app = express();
    app.use(mount, routes().api);
    const url = `${await serve(app)}${mount.replace(/\/$/, "")}`;
    for (const path of ["skills", "skills/", "skills?limit=1", "skills/?limit=1", "skills/echo/versions/1.0.0/"]) {
      expect([path, (await send(`${url}/${path}`, { headers: admin })).status]).toEqual([path, 200]);
    }
    const made = await send(`${url}/skills/echo/executions/`, { method: "POST", headers: admin });
    const where = new URL(made.headers.get("location") ?? "", `${url}/skills/echo/executions/`).href;
    expect(where).toBe(`${url}/executions/${made.body.id}`);
  });

  test("works in a Router, with the kit of the request", async () => {
    const kit = newKit();
    const router = express.Router();
    router.use(skillsApi({ authorize }));
    const app = express();
    app.use("/without", skillsApi({ authorize }));
    app.use(kit);
    app.use("/with", router);
    app.use(skillErrors({ logger: { error() {} } }));
    const url = await serve(app);
    expect((await send(`${url}/with/skills`, { headers: admin })).status).toBe(200);
    const silence = console.error;
    console.error = () => {};
    try {
      expect((await send(`${url}/without/skills`, { headers: admin })).body).toMatchObject({ status: 500, code: "KIT_MISSING" });
    } finally {
      console.error = silence;
    }
  });

  test("leaves paths that it does not know to the application", async () => {
    const app = express();
    app.use("/api", routes().api);
    app.get("/api/mine", (_request, response) => void response.json({ mine: true }));
    const url = await serve(app);
    expect((await send(`${url}/api/mine`)).body).toEqual({ mine: true });
    for (const path of [
      "",
      "skills/a/b/c/d",
      "skills//versions/1.0.0",
      "executions/x/y",
      "SKILLS",
      "constructor",
      "skills/a%2Fb/c",
    ])
      expect([path, (await send(`${url}/api/${path}`, { headers: admin })).status]).toEqual([path, 404]);
  });

  test("answers HEAD without a body, and other methods with those that there are", async () => {
    const app = express();
    app.use(routes().api);
    const url = await serve(app);
    const head = await send(`${url}/skills`, { method: "HEAD", headers: admin });
    expect([head.status, head.text, Number(head.headers.get("content-length")) > 50]).toEqual([200, "", true]);
    const wrong = await send(`${url}/skills`, { method: "PUT", headers: admin, body: "{}" });
    expect(wrong.body).toMatchObject({ status: 405, code: "METHOD_NOT_ALLOWED" });
    expect(wrong.headers.get("allow")).toBe("GET, POST, HEAD, OPTIONS");
    const options = await send(`${url}/executions/x/cancel`, { method: "OPTIONS" });
    expect([options.status, options.headers.get("allow")]).toEqual([204, "POST, OPTIONS"]);
  });

  test("a path with a broken % is refused", async () => {
    const app = express();
    app.use(routes().api, skillErrors());
    const { body } = await send(`${await serve(app)}/skills/%zz`, { headers: admin });
    expect(body.status).toBe(400);
  });

  test("events are not held back by compression", async () => {
    const kit = newKit();
    const app = express();
    app.use(compression({ threshold: 0 }));
    app.use(skillsApi({ authorize, kit }));
    kit.define({ name: "quick", schema: { type: "object" }, handler: () => null });
    const stream = await readEvents(`${await serve(app)}/executions/events`, { ...admin, "accept-encoding": "gzip" });
    expect(stream.headers.get("content-encoding")).toBeNull();
    await kit.executor.execute("quick", {});
    await expect.poll(() => stream.events.map(({ type, data }) => data.status ?? type)).toEqual(["state", "RUNNING", "SUCCESS"]);
  });
});

test("answers are not kept by caches, and not sniffed", async () => {
  const api = await openApi();
  const { headers } = await api.as("admin")("GET", "skills");
  expect([headers.get("cache-control"), headers.get("x-content-type-options")]).toEqual(["no-store", "nosniff"]);
});

test("a host name behind a proxy that the application trusts is its own origin", async () => {
  const kit = newKit();
  for (const [trust, status] of [
    [1, 200],
    [false, 403],
  ] as const) {
    const app = express5();
    app.set("trust proxy", trust);
    app.use(skillsApi({ authorize, kit }));
    const headers = { ...admin, origin: "https://public.example", "x-forwarded-host": "public.example" };
    const answer = await send(`${await serve(app)}/settings`, { method: "PATCH", headers, body: '{"skillsEnabled":true}' });
    expect(answer.status).toBe(status);
  }
});

test("the master switch, once off, refuses calls and can be read", async () => {
  const api = await openApi();
  expect((await api.as("admin")("PATCH", "settings", { body: { skillsEnabled: false } })).body).toEqual({ skillsEnabled: false });
  expect((await api.as("operator")("GET", "settings")).body).toEqual({ skillsEnabled: false });
  expect((await api.as("caller")("POST", "skills/echo/executions", { body: { text: "a" } })).body.code).toBe("SKILLS_DISABLED");
  for (const body of [{}, { skillsEnabled: "false" }, { skillsEnabled: false, more: 1 }])
    expect((await api.as("admin")("PATCH", "settings", { body })).body).toMatchObject({ status: 400, code: "INVALID_REQUEST" });
});

test("readiness says why not without telling what is inside", async () => {
  const kit = newKit({ database: "/nonexistent/folder/skills.db" });
  const app = express5();
  app.use(skillsApi({ authorize, kit }));
  const url = await serve(app);
  expect((await send(`${url}/health`)).body).toEqual({ status: "ok" });
  const { body, text } = await send(`${url}/ready`);
  expect(body).toMatchObject({ status: 503, code: "STORE_INVALID" });
  expect(text).not.toContain("nonexistent");
});

test("where no engine answers, engines say why", async () => {
  vi.stubEnv("PATH", "/nonexistent");
  onTestFinished(() => void vi.unstubAllEnvs());
  const { body } = await (await openApi()).as("operator")("GET", "engines");
  expect(body).toMatchObject({ sandbox: null, stats: { running: 0 }, problem: { code: "SANDBOX_UNAVAILABLE" } });
  expect(body.problem.detail).toContain("docker");
});
