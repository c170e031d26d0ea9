import { describe, expect, test } from "vitest";
import { type Api, openApi } from "./api.js";

const schema = { type: "object" };

async function registered(api: Api, definitions: readonly object[]): Promise<void> {
  for (const definition of definitions) {
    const answer = await api.as("admin")("POST", "skills", { body: { schema, handler: "plain", ...definition } });
    expect(answer.status).toBe(201);
  }
}

describe("registering", () => {
  test("makes a version, says where it is, and changes nothing the second time", async () => {
    const api = await openApi();
    const admin = api.as("admin");
    const body = { name: "@team/made", version: "1.0.0", schema, handler: "plain", apiKeyId: "team" };
    const first = await admin("POST", "skills", { body });
    expect([first.status, first.body.apiKeyId, first.body.patterns]).toEqual([201, "team", "linear"]);
    expect(first.headers.get("location")).toBe("./skills/%40team%2Fmade/versions/1.0.0?owner=team");
    const where = new URL(first.headers.get("location") ?? "", `${api.url}/skills`);
    expect((await admin("GET", where.href.slice(api.url.length + 1))).body).toEqual(first.body);
    const again = await admin("POST", "skills", { body });
    expect([again.status, again.body]).toEqual([200, first.body]);
    const other = await admin("POST", "skills", { body: { ...body, handler: "other" } });
    expect([other.status, other.body.code]).toEqual([409, "SKILL_CONFLICT"]);
    expect((await admin("POST", "skills", { body: { ...body, handler: "other", replace: true } })).body.handler).toBe("other");
  });

  test.each(["true", 1, null, {}])("refuses %j for `replace` and leaves the version as it is", async (replace) => {
    const api = await openApi();
    const body = { name: "made", schema, handler: "plain" };
    await registered(api, [body]);
    const { body: problem } = await api.as("admin")("POST", "skills", { body: { ...body, handler: "other", replace } });
    expect(problem).toMatchObject({ status: 422, code: "INVALID_DEFINITION", faults: [{ pointer: "/replace" }] });
    expect((await api.as("admin")("GET", "skills/made/versions/1.0.0")).body.handler).toBe("plain");
  });

  test("belongs to whom the definition names, else to `owner`, else to system", async () => {
    const api = await openApi();
    const made = async (query: string, apiKeyId?: string) => {
      const body = { name: `made${Math.random().toString(36).slice(2)}`, schema, handler: "plain", apiKeyId };
      return (await api.as("admin")("POST", `skills${query}`, { body })).body.apiKeyId;
    };
    expect([await made(""), await made("?owner=a"), await made("?owner=a", "b")]).toEqual(["system", "a", "b"]);
  });

  test("bounds schemas: no definition can choose native patterns or stop the server", async () => {
    const api = await openApi();
    const admin = api.as("admin");
    const slow = { type: "string", pattern: "^(a+)+$" };
    const made = await admin("POST", "skills", { body: { name: "slow", schema: { properties: { a: slow } }, handler: "plain" } });
    expect(made.body.patterns).toBe("linear");
    // A native pattern would take hours.
    await admin("POST", "skills/slow/executions", { body: { a: `${"a".repeat(40)}!` } });
    for (const hostile of [
      { name: "x", schema, handler: "plain", patterns: "native" },
      { name: "x", schema: { $ref: "https://evil.example/schema.json" }, handler: "plain" },
      { name: "x", schema: { pattern: "(?=look)ahead" }, handler: "plain" },
      {
        name: "x",
        schema: { $defs: { a: { anyOf: [{ $ref: "#/$defs/a" }, { $ref: "#/$defs/a" }] } }, $ref: "#/$defs/a" },
        handler: "plain",
      },
      [],
      null,
      "text",
      7,
    ]) {
      const answer = await admin("POST", "skills", { body: JSON.stringify(hostile) });
      expect([answer.status, answer.body.code]).toEqual([422, "INVALID_DEFINITION"]);
    }
  });
});

describe("listing", () => {
  test("goes page by page through every version once, and a page may begin where a version was removed", async () => {
    const api = await openApi();
    await registered(
      api,
      ["1.0.0", "1.1.0", "2.0.0-rc.1", "10.0.0", "9.0.0"].flatMap((version) =>
        ["system", "b", "a"].map((apiKeyId) => ({ name: "many", version, apiKeyId })),
      ),
    );
    const operator = api.as("operator");
    const seen: string[] = [];
    for (let cursor = ""; ; ) {
      const { body } = await operator("GET", `skills?name=many&limit=4${cursor}`);
      seen.push(...body.items.map((head: { apiKeyId: string; version: string }) => `${head.apiKeyId} ${head.version}`));
      if (body.nextCursor === null) break;
      cursor = `&cursor=${body.nextCursor}`;
      const last = body.items.at(-1);
      await api.as("admin")("DELETE", `skills/many/versions/${last.version}?owner=${last.apiKeyId}`);
    }
    const newestFirst = ["10.0.0", "9.0.0", "2.0.0-rc.1", "1.1.0", "1.0.0"];
    expect(seen).toEqual(["a", "b", "system"].flatMap((owner) => newestFirst.map((version) => `${owner} ${version}`)));
  });

  test("has filters for name, tag, mode, enabled and owner", async () => {
    const api = await openApi();
    await registered(api, [
      { name: "one", tags: ["x"], mode: "auto" },
      { name: "two", enabled: false, apiKeyId: "caller" },
      { name: "one", apiKeyId: "caller", version: "3.0.0" },
    ]);
    const names = async (query: string, role: "caller" | "operator" = "operator") =>
      (await api.as(role)("GET", `skills?${query}`)).body.items.map(
        (head: { name: string; apiKeyId: string }) => `${head.apiKeyId}/${head.name}`,
      );
    expect(await names("tag=x")).toEqual(["system/one"]);
    expect(await names("mode=auto")).toEqual(["system/one"]);
    expect(await names("enabled=false")).toEqual(["caller/two"]);
    expect(await names("owner=caller")).toEqual(["caller/one", "caller/two"]);
    expect(await names("name=one")).toEqual(["caller/one", "system/one"]);
    // A caller with a version of its own does not see those of system.
    expect(await names("name=one", "caller")).toEqual(["caller/one"]);
    expect(await names("owner=system", "caller")).not.toContain("system/one");
  });

  test("says which owner has to be named when only others have the name, and there are several", async () => {
    const api = await openApi();
    await registered(api, [{ name: "theirs", apiKeyId: "a" }]);
    expect((await api.as("operator")("GET", "skills/theirs")).body.items[0].apiKeyId).toBe("a");
    await registered(api, [{ name: "theirs", apiKeyId: "b" }]);
    expect((await api.as("operator")("GET", "skills/theirs")).body).toMatchObject({
      status: 400,
      faults: [{ pointer: "/owner" }],
    });
    expect((await api.as("operator")("GET", "skills/theirs?owner=b")).body.items[0].apiKeyId).toBe("b");
  });

  test.each(["not-a-cursor", "W10", "WyJhIiwiYiIsInYxIl0", "%00", "e30".repeat(300)])("refuses the cursor %j", async (cursor) => {
    const api = await openApi();
    const { body } = await api.as("caller")("GET", `skills?cursor=${cursor}`);
    expect(body).toMatchObject({ status: 400, code: "INVALID_REQUEST", faults: [{ pointer: "/cursor" }] });
  });
});

describe("changing a version", () => {
  test("switches it for the owner that is named", async () => {
    const api = await openApi();
    await registered(api, [{ name: "mine", apiKeyId: "a" }, { name: "mine" }]);
    const { body } = await api.as("operator")("PATCH", "skills/mine/versions/1.0.0?owner=a", {
      body: { enabled: false, mode: "off" },
    });
    expect(body).toMatchObject({ apiKeyId: "a", enabled: false, mode: "off" });
    expect((await api.as("operator")("GET", "skills/mine?owner=system")).body.items[0].enabled).toBe(true);
    expect((await api.as("caller", "a")("POST", "skills/mine/executions", { body: {} })).body.code).toBe("SKILL_DISABLED");
  });

  test("leaves description and tags to admins", async () => {
    const api = await openApi();
    const body = { description: "What it does", tags: ["new"] };
    expect((await api.as("operator")("PATCH", "skills/echo/versions/1.0.0", { body })).body.code).toBe("FORBIDDEN");
    expect((await api.as("admin")("PATCH", "skills/echo/versions/1.0.0", { body })).body).toMatchObject(body);
  });

  test.each([
    [{}, ""],
    [{ enabled: "yes" }, "/enabled"],
    [{ mode: "maybe" }, "/mode"],
    [{ version: "2.0.0" }, "/version"],
    [{ apiKeyId: "other" }, "/apiKeyId"],
    [{ tags: [1] }, "/tags/0"],
    [[], ""],
    [null, ""],
    ["text", ""],
  ])("refuses %j and says where", async (body, pointer) => {
    const api = await openApi();
    const answer = await api.as("admin")("PATCH", "skills/echo/versions/1.0.0", { body: JSON.stringify(body) });
    expect(answer.body).toMatchObject({ status: 400, code: "INVALID_REQUEST", faults: [{ pointer }] });
  });
});

test("a scoped name works URL-encoded on every route", async () => {
  const api = await openApi();
  const admin = api.as("admin");
  const name = encodeURIComponent("@scope/echo");
  expect((await admin("GET", `skills?name=${name}`)).body.items).toHaveLength(1);
  expect((await admin("GET", `skills/${name}`)).body.items[0].version).toBe("1.2.0");
  expect((await admin("GET", `skills/${name}/versions/1.2.0`)).body.name).toBe("@scope/echo");
  expect((await admin("PATCH", `skills/${name}/versions/1.2.0`, { body: { mode: "auto" } })).body.mode).toBe("auto");
  for (const range of ["", "@1.2.0", "@^1", "@latest", "@>=1 <2"]) {
    const answer = await admin("POST", `skills/${encodeURIComponent(`@scope/echo${range}`)}/executions`, { body: { text: "a" } });
    expect([answer.status, answer.body.output]).toEqual([201, { scoped: "a" }]);
  }
  expect((await admin("DELETE", `skills/${name}/versions/1.2.0`)).status).toBe(204);
});
