import { createConfig, lintFromString } from "@redocly/openapi-core";
import { describe, expect, test } from "vitest";
import { createRoutes } from "../../../middleware/api/routes.js";
import { until } from "../servers.js";
import { openApi, openDocument } from "./api.js";

test("the document passes a spec linter without an error or a warning", async () => {
  const api = await openApi();
  const { text } = await api.as("caller")("GET", "openapi.json");
  const config = await createConfig({ extends: ["recommended"] });
  const problems = await lintFromString({ source: text, absoluteRef: "openapi.json", config });
  expect(problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer])).toEqual([]);
});

test("the document has every route of the table, and no other", async () => {
  const { document } = await openDocument(await openApi());
  const described = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect(described.sort()).toEqual(
    createRoutes()
      .map(({ method, path }) => `${method} /${path}`)
      .sort(),
  );
});

describe("every answer is as the document says", () => {
  test("of skills", async () => {
    const api = await openApi();
    const { check } = await openDocument(api);
    const admin = api.as("admin");
    const one = "skills/{name}/versions/{version}";
    const definition = {
      name: "made",
      schema: { type: "object", properties: { n: { type: "integer" } } },
      outputSchema: { type: "object" },
      handler: "plain",
      retry: { limit: 2, backoffMs: 10 },
      concurrency: { limit: 1 },
      breaker: { failures: 3 },
      timeoutMs: 1_000,
      idempotent: true,
      sourceProvider: "test",
      tags: ["a"],
    };
    check("POST", "skills", await admin("POST", "skills", { body: definition }));
    check("POST", "skills", await admin("POST", "skills", { body: definition }));
    check("POST", "skills", await admin("POST", "skills", { body: { ...definition, handler: "other" } }));
    check("POST", "skills", await admin("POST", "skills", { body: { name: "-", version: "v1", more: 1 } }));
    check("GET", "skills", await admin("GET", "skills?limit=2"));
    check("GET", "skills", await admin("GET", "skills?limit=0"));
    check("GET", "skills/{name}", await admin("GET", "skills/made"));
    check("GET", "skills/{name}", await admin("GET", "skills/missing"));
    check("GET", one, await admin("GET", "skills/made/versions/1.0.0"));
    check("GET", one, await admin("GET", "skills/echo/versions/1.0.0"));
    check("GET", one, await admin("GET", "skills/made/versions/9.0.0"));
    check(
      "PATCH",
      one,
      await admin("PATCH", "skills/made/versions/1.0.0", { body: { mode: "auto", tags: [], description: "x" } }),
    );
    check("PATCH", one, await admin("PATCH", "skills/made/versions/1.0.0", { body: { mode: "maybe" } }));
    check("DELETE", one, await admin("DELETE", "skills/made/versions/1.0.0"));
    check("DELETE", one, await admin("DELETE", "skills/made/versions/1.0.0"));
  });

  test("of executions", async () => {
    const api = await openApi();
    const { check } = await openDocument(api);
    for (const role of ["admin", "caller"] as const) {
      const call = api.as(role);
      const run = "skills/{reference}/executions";
      const key = { "idempotency-key": `key-${role}` };
      check("POST", run, await call("POST", "skills/echo/executions", { body: { text: "a" }, headers: key }));
      check("POST", run, await call("POST", "skills/echo/executions", { body: { text: "a" }, headers: key }));
      check("POST", run, await call("POST", "skills/echo/executions", { body: { text: "b" }, headers: key }));
      check("POST", run, await call("POST", "skills/fails/executions"));
      check("POST", run, await call("POST", "skills/echo@^9/executions", { body: { text: 1 } }));
      check("POST", run, await call("POST", "skills/echo/executions", { body: { text: 1 } }));
      const begun = await call("POST", "skills/waits/executions", { headers: { prefer: "respond-async" } });
      expect(begun.status).toBe(202);
      check("POST", run, begun);
      check("GET", "executions/{id}", await call("GET", `executions/${begun.body.id}`));
      check("POST", "executions/{id}/cancel", await call("POST", `executions/${begun.body.id}/cancel`));
      await until(async () => (await call("GET", `executions/${begun.body.id}`)).body.status === "CANCELLED");
      check("POST", "executions/{id}/cancel", await call("POST", `executions/${begun.body.id}/cancel`));
      const nested = await call("POST", "skills/nests/executions");
      check("POST", run, nested);
      check("GET", "executions/{id}/tree", await call("GET", `executions/${nested.body.id}/tree`));
      check("GET", "executions/{id}/tree", await call("GET", "executions/missing/tree"));
      check("GET", "executions/{id}/events", await call("GET", `executions/${nested.body.id}/events`));
      if (role === "admin") check("GET", "executions/events", { ...(await call("HEAD", "executions/events")), text: "events" });
      check("GET", "executions", await call("GET", "executions?limit=3"));
      check("GET", "executions", await call("GET", "executions?cursor=stale"));
      check("POST", "executions/{id}/retry", await call("POST", `executions/${nested.body.id}/retry`));
      check(
        "POST",
        "executions/{id}/retry",
        await call("POST", `executions/${nested.body.id}/retry`, { headers: { prefer: "wait=0" } }),
      );
    }
  });

  test("of what operators ask", async () => {
    const api = await openApi();
    const { check } = await openDocument(api);
    await api.as("admin")("POST", "skills/echo/executions", { body: { text: "a" } });
    await api.as("admin")("POST", "skills/fails/executions");
    for (const role of ["admin", "operator", "caller", null] as const) {
      const call = api.as(role);
      for (const path of ["settings", "stats", "engines", "health", "ready", "openapi.json"])
        check("GET", path, await call("GET", path));
      check("GET", "stats", await call("GET", "stats?bucket=minute&from=2026-01-01T00:00:00Z&to=2026-01-01T01:00:00Z"));
      check("PATCH", "settings", await call("PATCH", "settings", { body: { skillsEnabled: true } }));
    }
    await api.kit.close({ graceMs: 0 });
    const answer = await api.as("admin")("GET", "ready");
    expect(answer.status).toBe(503);
    check("GET", "ready", answer);
    check("GET", "health", await api.as("admin")("GET", "health"));
  });
});
