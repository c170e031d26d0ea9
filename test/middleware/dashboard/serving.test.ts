import express from "express";
import { describe, expect, test } from "vitest";
import { createDashboard } from "../../../middleware/dashboard/router.js";
import { skillsDashboard } from "../../../middleware/index.js";
import { newKit, send, serve, versions } from "../servers.js";
import { authorize } from "./operations.js";
import { buildPage } from "./page-folder.js";

const page = buildPage();
const admin = { headers: { authorization: "Bearer admin-token" } };

describe.each(versions)("the dashboard on Express $version", ({ express }) => {
  const start = (path: string) => {
    const app = express().use(newKit());
    app.use(path, createDashboard({ authorize }, page()));
    return serve(app);
  };

  test("serves its page to everybody, without any data, and never from a cache", async () => {
    const url = await start("/ops");
    const { status, headers, text } = await send(`${url}/ops/`);
    expect(status).toBe(200);
    expect(headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("x-frame-options")).toBe("SAMEORIGIN");
    expect(headers.get("content-security-policy")).toContain("frame-ancestors 'self'");
    expect(text).toContain('<div id="app"></div>');
  });

  test("has nothing inline and nothing from elsewhere", async () => {
    const url = await start("/ops");
    const { text } = await send(`${url}/ops/`);
    expect(text).not.toMatch(/<style|style=|\son\w+=|<script(?![^>]*\ssrc=)/);
    const addresses = [...text.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, address]) => address);
    expect(addresses.length).toBeGreaterThan(2);
    expect(addresses.filter((address) => !address?.startsWith("./assets/"))).toEqual([]);
  });

  test("serves its assets with a name that changes with their content, for ever", async () => {
    const url = await start("/ops");
    const { text } = await send(`${url}/ops/`);
    const [, script = ""] = /src="\.\/(assets\/[^"]+\.js)"/.exec(text) ?? [];
    const { status, headers } = await send(`${url}/ops/${script}`);
    expect(status).toBe(200);
    expect(headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
    expect(headers.get("content-type")).toBe("text/javascript; charset=utf-8");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    const head = await send(`${url}/ops/${script}`, { method: "HEAD" });
    expect([head.status, head.text]).toEqual([200, ""]);
  });

  test("sends an address without its slash to the one with it, by its last part only", async () => {
    const url = await start("/admin/ops");
    const { status, headers } = await send(`${url}/admin/ops?from=mail`, { redirect: "manual" });
    expect(status).toBe(302);
    expect(headers.get("location")).toBe("./ops/?from=mail");
    expect((await send(`${url}/admin/ops`)).text).toContain('<div id="app">');
  });

  test("serves its page at the root of an application too", async () => {
    const url = await start("/");
    expect((await send(`${url}/`, { redirect: "manual" })).status).toBe(200);
    expect((await send(`${url}/api/skills`, admin)).status).toBe(200);
  });

  test("serves the API below its own path, to whom authorize() knows only", async () => {
    const url = await start("/ops");
    const answer = await send(`${url}/ops/api/skills`);
    expect([answer.status, answer.body.code]).toEqual([401, "UNAUTHENTICATED"]);
    const { status, body } = await send(`${url}/ops/api/skills`, admin);
    expect([status, body.items]).toEqual([200, []]);
  });

  test("says whom the browser is taken for", async () => {
    const url = await start("/ops");
    const { status, body, headers } = await send(`${url}/ops/session`, admin);
    expect([status, body]).toEqual([200, { apiKeyId: "ada", role: "admin" }]);
    expect(headers.get("cache-control")).toBe("no-store");
    const nobody = await send(`${url}/ops/session`);
    expect([nobody.status, nobody.body.code]).toEqual([401, "UNAUTHENTICATED"]);
  });

  test("leaves paths and methods that are not its own to the application", async () => {
    const app = express().use(newKit());
    app.use("/ops", createDashboard({ authorize }, page()));
    app.use((request, response) => void response.status(418).send(`${request.baseUrl}|${request.url}`));
    const url = await serve(app);
    for (const path of [
      "/ops/assets/",
      "/ops/assets/no.js",
      "/ops/other",
      "/ops/assets/..%2f..%2fpackage.json",
      "/ops/index.html",
    ]) {
      const { status, text } = await send(`${url}${path}`);
      expect([status, text]).toEqual([418, `|${path}`]);
    }
    expect((await send(`${url}/ops/`, { method: "POST" })).status).toBe(418);
    const unknown = await send(`${url}/ops/api/nothing`, admin);
    expect([unknown.status, unknown.text]).toEqual([418, "|/ops/api/nothing"]);
  });

  test("starts relative addresses where a proxy says that it took something away, and believes no nonsense", async () => {
    const url = await start("/");
    const baseFor = async (prefix: string) => {
      const { text } = await send(`${url}/`, { headers: { "x-forwarded-prefix": prefix } });
      return /<base href="([^"]*)">/.exec(text)?.[1];
    };
    expect(await baseFor("/tools")).toBe("/tools/");
    expect(await baseFor("/a/b-c/")).toBe("/a/b-c/");
    for (const prefix of ["//evil.example", "https://evil.example", '/"><script>', "/a//b", "javascript:alert(1)", "/%2f", "x"])
      expect(await baseFor(prefix)).toBeUndefined();
  });

  test("adds its policy to one that is there", async () => {
    const app = express().use(newKit());
    app.use((_request, response, next) => {
      response.setHeader("Content-Security-Policy", "script-src 'self' https://cdn.example");
      next();
    });
    app.use("/ops", createDashboard({ authorize }, page()));
    const policy = (await send(`${await serve(app)}/ops/`)).headers.get("content-security-policy");
    expect(policy).toContain("https://cdn.example");
    expect(policy).toContain("default-src 'none'");
  });
});

test("there is no dashboard without authorize", () => {
  // @ts-expect-error authorize is required
  expect(() => skillsDashboard({})).toThrow(/needs the option authorize/);
  expect(() => skillsDashboard(undefined as never)).toThrow(/needs the option authorize/);
  expect(() => skillsDashboard({ authorize: "everybody" as never })).toThrow(/needs the option authorize/);
});

test("a page that was not built is said when the dashboard is made, not when it is visited", () => {
  expect(() => createDashboard({ authorize }, new URL("file:///no/such/folder/"))).toThrow(/finds no page in .*npm run build/);
});

test("an authorize() that throws is answered as problem details, without its text", async () => {
  const app = express().use(newKit());
  const failing = () => {
    throw new Error("connect ECONNREFUSED 10.0.0.3:5432");
  };
  app.use("/ops", createDashboard({ authorize: failing }, page()));
  const { status, text, body } = await send(`${await serve(app)}/ops/session`);
  expect([status, body.status]).toEqual([500, 500]);
  expect(text).not.toContain("10.0.0.3");
});
