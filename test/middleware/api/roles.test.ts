import { describe, expect, test } from "vitest";
import { createRoutes } from "../../../middleware/api/routes.js";
import { type ApiRole, type Authorize, skillsApi } from "../../../middleware/index.js";
import { post, send } from "../servers.js";
import { type Api, openApi } from "./api.js";

const roles = [null, "caller", "operator", "admin"] as const;

/** Of every route: the least role that may use it, a request, and what is answered to who may. `{id}` is an execution of the key `caller`. */
const table: readonly (readonly [route: string, needed: ApiRole | null, path: string, status: number, body?: unknown])[] = [
  ["GET skills", "caller", "skills", 200],
  ["POST skills", "admin", "skills", 201, { name: "made", schema: { type: "object" }, handler: "plain" }],
  ["GET skills/{name}", "caller", "skills/echo", 200],
  ["GET skills/{name}/versions/{version}", "caller", "skills/echo/versions/1.0.0", 200],
  ["PATCH skills/{name}/versions/{version}", "operator", "skills/echo/versions/1.0.0", 200, { enabled: true }],
  ["DELETE skills/{name}/versions/{version}", "admin", "skills/%40scope%2Fecho/versions/1.2.0", 204],
  ["POST skills/{reference}/executions", "caller", "skills/echo/executions", 201, { text: "a" }],
  ["GET executions", "caller", "executions", 200],
  ["GET executions/events", "operator", "executions/events", 200],
  ["GET executions/{id}", "caller", "executions/{id}", 200],
  ["GET executions/{id}/tree", "caller", "executions/{id}/tree", 200],
  ["GET executions/{id}/events", "caller", "executions/{id}/events", 200],
  ["POST executions/{id}/cancel", "caller", "executions/{id}/cancel", 409],
  ["POST executions/{id}/retry", "operator", "executions/{id}/retry", 201],
  ["GET settings", "operator", "settings", 200],
  ["PATCH settings", "admin", "settings", 200, { skillsEnabled: true }],
  ["GET stats", "operator", "stats", 200],
  ["GET engines", "operator", "engines", 200],
  ["GET health", null, "health", 200],
  ["GET ready", null, "ready", 200],
  ["GET openapi.json", "caller", "openapi.json", 200],
];

test("the table of this test has every route of the API", () => {
  const known = createRoutes().map(({ method, path, role }) => [`${method} ${path}`, role]);
  expect(table.map(([route, needed]) => [route, needed]).sort()).toEqual(known.sort());
});

const cases = table.flatMap(([route, needed, path, status, body]) =>
  roles.map((role) => ({ route, needed, path, status, body, role })),
);

describe("who may do what", () => {
  test.for(cases)("$route as $role", async ({ route, needed, path, status, body, role }) => {
    const api = await openApi();
    const { id } = await api.kit.executor.execute("echo", { text: "a" }, { apiKeyId: "caller" });
    const [method = ""] = route.split(" ");
    const isStream = route.endsWith("executions/events");
    const answer = await api.as(role)(isStream ? "HEAD" : method, path.replace("{id}", id), { body });
    const mayDo = needed === null || (role !== null && roles.indexOf(role) >= roles.indexOf(needed));
    const expected = mayDo ? status : role === null ? 401 : 403;
    expect(answer.status).toBe(expected);
    if (isStream) return;
    if (!mayDo) expect(answer.body).toMatchObject({ code: role === null ? "UNAUTHENTICATED" : "FORBIDDEN", status: expected });
  });
});

describe("whichever route it is,", () => {
  const requests = table.map(([route, , path, , body]) => {
    const [method = ""] = route.split(" ");
    return { route, method, path, body };
  });
  const writes = requests.filter(({ method }) => method !== "GET");

  test("an unknown parameter is refused", async () => {
    const api = await openApi();
    const { id } = await api.kit.executor.execute("echo", { text: "a" });
    for (const { route, method, path, body } of requests) {
      const { body: problem } = await api.as("admin")(method, `${path.replace("{id}", id)}?unknown=1`, { body });
      expect([route, problem.code, problem.faults?.[0]?.pointer]).toEqual([route, "INVALID_REQUEST", "/unknown"]);
    }
  });

  test("what does not exist is not found", async () => {
    const api = await openApi();
    for (const { route, method, path, body } of requests.filter(({ path }) => /echo|\{id\}/.test(path))) {
      const missing = path.replace("{id}", "missing").replace(/echo/, "missing");
      expect([route, (await api.as("admin")(method, missing, { body })).status]).toEqual([route, 404]);
    }
  });

  test("a write from another site's page, without JSON's content type, or of what is no JSON, changes nothing", async () => {
    const api = await openApi();
    const { id } = await api.kit.executor.start("waits", {}, { apiKeyId: "admin" });
    for (const { route, method, path, body } of writes) {
      const status = async (headers: Record<string, string>, sent: unknown = body) =>
        (await api.as("admin")(method, path.replace("{id}", id), { body: sent, headers })).status;
      expect([route, await status({ origin: "https://evil.example" })]).toEqual([route, 403]);
      // Without a body, and never sent by a page of another site unless it was allowed to.
      if (method === "DELETE") continue;
      expect([route, await status({ "content-type": "text/plain" })]).toEqual([route, 415]);
      expect([route, await status({}, '{"text":')]).toEqual([route, 400]);
      expect([route, await status({}, "x".repeat(200_000))]).toEqual([route, 413]);
    }
    expect(api.kit.executor.isRunning(id)).toBe(true);
    expect((await api.as("admin")("GET", "skills?name=made")).body.items).toEqual([]);
    expect((await api.as("admin")("GET", "executions?skill=echo")).body.items).toEqual([]);
  });
});

describe("a caller and what belongs to others", () => {
  async function openWithOthers(): Promise<{ api: Api; id: string; running: string }> {
    const api = await openApi();
    await api.kit.registry.register({ name: "secretSkill", apiKeyId: "other", schema: { type: "object" }, handler: "plain" });
    const { id } = await api.kit.executor.execute("echo", { text: "private" }, { apiKeyId: "other" });
    const { id: running } = await api.kit.executor.start("waits", {}, { apiKeyId: "other" });
    return { api, id, running };
  }

  test.for([
    ["GET", "executions/{id}"],
    ["GET", "executions/{id}/tree"],
    ["GET", "executions/{id}/events"],
    ["POST", "executions/{id}/cancel"],
  ])("%s %s is answered as if it did not exist", async ([method = "", path = ""]) => {
    const { api, id, running } = await openWithOthers();
    for (const foreign of [id, running]) {
      const answer = await api.as("caller")(method, path.replace("{id}", foreign));
      expect(answer.status).toBe(404);
      expect(answer.body).toMatchObject({ code: "EXECUTION_NOT_FOUND", detail: `There is no execution "${foreign}".` });
    }
    expect(api.kit.executor.isRunning(running)).toBe(true);
  });

  test("does not see another owner's skill, in lists, by name, or by running it", async () => {
    const { api } = await openWithOthers();
    const call = api.as("caller");
    expect((await call("GET", "skills?name=secretSkill")).body.items).toEqual([]);
    expect((await call("GET", "skills/secretSkill")).status).toBe(404);
    expect((await call("GET", "skills/secretSkill/versions/1.0.0")).status).toBe(404);
    expect((await call("POST", "skills/secretSkill/executions", { body: {} })).body.code).toBe("SKILL_NOT_FOUND");
    expect((await api.as("caller", "other")("GET", "skills/secretSkill")).status).toBe(200);
  });

  test("may not name another owner, wherever it does", async () => {
    const { api } = await openWithOthers();
    for (const [method, path] of [
      ["GET", "executions?owner=other"],
      ["GET", "skills?owner=other"],
      ["GET", "skills/secretSkill?owner=other"],
      ["GET", "skills/secretSkill/versions/1.0.0?owner=other"],
      ["POST", "skills/echo/executions?owner=other"],
      ["POST", "skills/echo/executions?owner=system"],
    ] as const) {
      expect([
        path,
        (await api.as("caller")(method, path, { body: method === "POST" ? { text: "a" } : undefined })).status,
      ]).toEqual([path, 403]);
    }
    const { body } = await api.as("caller")("POST", "skills/echo/executions", {
      body: { text: "a", apiKeyId: "other", owner: "other" },
    });
    expect(body.apiKeyId).toBe("caller");
  });

  test("lists its own executions only", async () => {
    const { api } = await openWithOthers();
    await api.as("caller")("POST", "skills/echo/executions", { body: { text: "mine" } });
    const { body } = await api.as("caller")("GET", "executions?limit=200");
    expect(body.items.map(({ apiKeyId }: { apiKeyId: string }) => apiKeyId)).toEqual(["caller"]);
  });

  test("an operator sees everybody's, or those of the owner it names, but acts as itself only", async () => {
    const { api, id } = await openWithOthers();
    const operator = api.as("operator");
    expect((await operator("GET", `executions/${id}`)).body.apiKeyId).toBe("other");
    const owners = (await operator("GET", "executions?limit=200")).body.items.map(
      ({ apiKeyId }: { apiKeyId: string }) => apiKeyId,
    );
    expect(new Set(owners)).toEqual(new Set(["other"]));
    expect((await operator("GET", "skills/secretSkill")).body.items).toHaveLength(1);
    expect((await operator("GET", "skills?owner=other")).body.items).toHaveLength(1);
    expect((await operator("POST", "skills/echo/executions?owner=other", { body: { text: "a" } })).status).toBe(403);
    const asOther = await api.as("admin")("POST", "skills/secretSkill/executions?owner=other", { body: { text: "a" } });
    expect(asOther.body).toMatchObject({ apiKeyId: "other", status: "SUCCESS" });
  });
});

describe("authorize", () => {
  const nobody = (): null => null;
  test.each([undefined, {}, { authorize: "yes" }, { authorize: nobody, kit: {} }, { authorize: nobody, maxStreams: 0 }])(
    "must be given, and the other options must be valid: %j",
    (options) => {
      expect(() => skillsApi(options as never)).toThrow(expect.objectContaining({ code: "INVALID_OPTION" }));
    },
  );

  test("may be async, may throw an error that is answered, and is not asked about health", async () => {
    const authorize: Authorize = async (request) => {
      if (request.headers["x-role"] === "admin") return { apiKeyId: "key", role: "admin" };
      throw Object.assign(new Error("The token is over"), {
        status: 401,
        expose: true,
        headers: { "WWW-Authenticate": "Bearer" },
      });
    };
    const api = await openApi({ authorize });
    const refused = await api.as("caller")("GET", "skills");
    expect([refused.status, refused.headers.get("www-authenticate"), refused.body.detail]).toEqual([
      401,
      "Bearer",
      "The token is over",
    ]);
    expect((await api.as("admin")("GET", "skills")).status).toBe(200);
    expect((await api.as(null)("GET", "health")).status).toBe(200);
  });

  test.each([
    { apiKeyId: "key" },
    { apiKeyId: "", role: "admin" },
    { apiKeyId: "key", role: "root" },
    { apiKeyId: "key", role: "toString" },
    "admin",
  ])("gives nobody a role when it answers %j", async (identity) => {
    const api = await openApi({ authorize: () => identity as never });
    expect((await api.as(null)("GET", "skills")).body).toMatchObject({ status: 500, code: "INVALID_OPTION" });
  });
});

describe("a write from a page of another site", () => {
  test.each([
    ["https://evil.example", {}, 403],
    ["null", {}, 403],
    ["https://evil.example", { "x-forwarded-host": "evil.example" }, 403],
    ["own", {}, 200],
    ["https://behind.a.proxy", { "sec-fetch-site": "same-origin" }, 200],
  ] as const)("with Origin %s and %j is answered with %i", async (origin, more, status) => {
    const api = await openApi();
    const headers = { ...more, origin: origin === "own" ? new URL(api.url).origin : origin };
    const answer = await api.as("admin")("PATCH", "settings", { body: { skillsEnabled: true }, headers });
    expect(answer.status).toBe(status);
    const removed = await api.as("admin")("DELETE", "skills/echo/versions/1.0.0", { headers });
    expect(removed.status).toBe(status === 200 ? 204 : 403);
  });

  test("is refused when it is no JSON, as forms are", async () => {
    const api = await openApi();
    for (const type of ["text/plain", "application/x-www-form-urlencoded", ""]) {
      const answer = await send(`${api.url}/executions/x/cancel`, {
        method: "POST",
        headers: { "x-role": "admin", "x-api-key": "a", "content-type": type },
        body: "{}",
      });
      expect(answer.body).toMatchObject({ status: 415, code: "UNSUPPORTED_MEDIA_TYPE" });
    }
    expect((await post(`${api.url}/executions/x/cancel`, {}, { "x-role": "admin", "x-api-key": "a" })).status).toBe(404);
  });
});
