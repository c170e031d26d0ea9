import { describe, expect, test } from "vitest";
import { newDatabase } from "../../fixtures/database.js";
import { newKit, send, until } from "../servers.js";
import { identityHeaders, openApi } from "./api.js";

describe("running a skill", () => {
  test("answers with the execution, and says where it is", async () => {
    const api = await openApi();
    const caller = api.as("caller");
    const answer = await caller("POST", "skills/echo@^1/executions", { body: { text: "a" } });
    expect([answer.status, answer.body.status, answer.body.output]).toEqual([201, "SUCCESS", { text: "a" }]);
    const where = new URL(answer.headers.get("location") ?? "", `${api.url}/skills/echo@%5E1/executions`).href;
    expect(where).toBe(`${api.url}/executions/${answer.body.id}`);
    expect((await caller("GET", `executions/${answer.body.id}`)).body).toEqual(answer.body);
  });

  test("takes an empty body for {}", async () => {
    const api = await openApi();
    expect((await api.as("caller")("POST", "skills/nests/executions")).body.output).toEqual({
      first: { text: "a" },
      second: { text: "b" },
    });
  });

  test("shows operators the text of a failure, and callers none of it", async () => {
    const api = await openApi();
    const { body, text, status } = await api.as("caller")("POST", "skills/fails/executions");
    expect([status, body.status, body.errorCode, body.errorMessage]).toEqual([201, "ERROR", "SKILL_FAILED", "The skill failed"]);
    expect(text).not.toContain("hunter2");
    for (const path of [`executions/${body.id}`, `executions/${body.id}/tree`, "executions"]) {
      expect((await api.as("caller")("GET", path)).text).not.toContain("hunter2");
      expect((await api.as("operator")("GET", path)).text).toContain("hunter2");
    }
  });

  test("replays the stored answer under an idempotency key, and refuses another input under it", async () => {
    const api = await openApi();
    const run = (text: string, key: string, who = "caller") =>
      api.as("caller", who)("POST", "skills/echo/executions", { body: { text }, headers: { "idempotency-key": key } });
    const first = await run("a", "k");
    const again = await run("a", "k");
    expect([first.status, again.status, again.body]).toEqual([201, 200, first.body]);
    expect((await run("b", "k")).body).toMatchObject({ status: 422, code: "IDEMPOTENCY_MISMATCH" });
    expect((await run("b", "k", "somebody")).status).toBe(201);
    expect((await run("a", "x".repeat(256))).body).toMatchObject({ status: 400, code: "INVALID_REQUEST" });
  });

  test.each([
    ["wait=0", "wait=0"],
    ["respond-async", "respond-async"],
    ["handling=lenient, wait=0; foo", "wait=0"],
  ])("with Prefer: %s it does not wait, and the execution can be found at once", async (prefer, applied) => {
    const api = await openApi({ kit: newKit({ worker: {} }) });
    const caller = api.as("caller");
    const answer = await caller("POST", "skills/waits/executions", { headers: { prefer } });
    expect([answer.status, answer.headers.get("preference-applied")]).toEqual([202, applied]);
    expect(["QUEUED", "RUNNING"]).toContain((await caller("GET", `executions/${answer.body.id}`)).body.status);
    await until(async () => (await caller("GET", `executions/${answer.body.id}`)).body.status === "RUNNING");
    expect((await caller("POST", `executions/${answer.body.id}/cancel`)).status).toBe(202);
    await until(async () => (await caller("GET", `executions/${answer.body.id}`)).body.status === "CANCELLED");
  });

  test.each([{}, { "idempotency-key": "k" }])("what it accepts is found by every process at once (%j)", async (key) => {
    const database = newDatabase();
    const api = await openApi({ kit: newKit({ database }) });
    const other = newKit({ database, worker: false });
    await other.ready();
    for (let count = 0; count < 5; count++) {
      const headers = { prefer: "wait=0", ...("idempotency-key" in key && { "idempotency-key": `k${count}` }) };
      const { status, body } = await api.as("caller")("POST", "skills/waits/executions", { headers });
      expect([status, (await other.executor.getExecution(body.id))?.status]).toEqual([202, "RUNNING"]);
      await api.as("caller")("POST", `executions/${body.id}/cancel`);
    }
  });

  test("with Prefer: respond-async the work waits for a worker of any process, and can be cancelled before it runs", async () => {
    const api = await openApi({ kit: newKit({ worker: false }) });
    const caller = api.as("caller");
    const headers = { prefer: "respond-async", "idempotency-key": "k" };
    const answer = await caller("POST", "skills/echo/executions", { body: { text: "a" }, headers });
    expect([answer.status, answer.body.status, answer.headers.get("retry-after")]).toEqual([202, "QUEUED", "1"]);
    expect(answer.headers.get("preference-applied")).toBe("respond-async");
    const location = new URL(answer.headers.get("location") ?? "", `${api.url}/skills/echo/executions`);
    expect(location.href).toBe(`${api.url}/executions/${answer.body.id}`);
    const found = await send(location.href, { headers: identityHeaders("caller", "caller") });
    expect(found.body).toMatchObject({ id: answer.body.id, status: "QUEUED" });
    expect((await caller("POST", "skills/echo/executions", { body: { text: "a" }, headers })).body.id).toBe(answer.body.id);
    expect((await api.as("caller", "somebody")("POST", `executions/${answer.body.id}/cancel`)).status).toBe(404);
    const remove = (query: string) => api.as("admin")("DELETE", `skills/echo/versions/1.0.0${query}`);
    expect((await remove("")).body).toMatchObject({ status: 409, code: "SKILL_IN_USE" });
    expect((await caller("POST", `executions/${answer.body.id}/cancel`)).body).toMatchObject({ status: "CANCELLED" });
    const second = await caller("POST", "skills/echo/executions", { body: { text: "a" }, headers: { prefer: "respond-async" } });
    expect(second.status).toBe(202);
    expect((await remove("?force=true")).status).toBe(204);
    api.kit.startWorker();
    await until(async () => (await caller("GET", `executions/${second.body.id}`)).body.status === "DENIED");
  });

  test("with Prefer: respond-async and no audit it goes on in this process", async () => {
    const api = await openApi({ kit: newKit({ audit: false }) });
    const headers = { prefer: "respond-async" };
    const answer = await api.as("caller")("POST", "skills/waits/executions", { headers });
    expect([answer.status, answer.body.status]).toEqual([202, "RUNNING"]);
  });

  test("with Prefer: wait it answers as soon as the work ends, or when the wait is over", async () => {
    const api = await openApi();
    const caller = api.as("caller");
    const quick = await caller("POST", "skills/echo/executions", { body: { text: "a" }, headers: { prefer: "wait=20" } });
    expect([quick.status, quick.body.status]).toEqual([201, "SUCCESS"]);
    const long = await caller("POST", "skills/waits/executions", { headers: { prefer: "wait=1" } });
    expect([long.status, long.body.status, long.headers.get("preference-applied")]).toEqual([202, "RUNNING", "wait=1"]);
  });

  test("a preference that cannot be read is none", async () => {
    const api = await openApi();
    const headers = { prefer: "wait=soon, wait, =, ;;" };
    expect((await api.as("caller")("POST", "skills/echo/executions", { body: { text: "a" }, headers })).status).toBe(201);
  });

  test.each([
    [{}, "CANCELLED"],
    [{ prefer: "wait=30" }, "RUNNING"],
    [{ "idempotency-key": "k" }, "RUNNING"],
  ])("a client that leaves, with %j, leaves the execution %s", async (more, status) => {
    const api = await openApi();
    const aborter = new AbortController();
    const gone = fetch(`${api.url}/skills/waits/executions`, {
      method: "POST",
      headers: { "content-type": "application/json", ...identityHeaders("caller", "caller"), ...more },
      signal: aborter.signal,
    }).catch(() => "left");
    const statusOf = async () => (await api.as("caller")("GET", "executions?skill=waits")).body.items[0]?.status;
    await until(async () => (await statusOf()) === "RUNNING");
    aborter.abort();
    expect(await gone).toBe("left");
    if (status === "RUNNING") await new Promise((resolve) => setTimeout(resolve, 300));
    else await until(async () => (await statusOf()) !== "RUNNING");
    expect(await statusOf()).toBe(status);
  });

  test("a call that waits for its place can be found, followed and cancelled", async () => {
    const kit = newKit();
    kit.define({
      name: "narrow",
      schema: { type: "object" },
      concurrency: { limit: 1, queue: 5 },
      handler: (_input, { signal }) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
    });
    const api = await openApi({ kit });
    const caller = api.as("caller");
    const headers = { prefer: "wait=0" };
    const first = (await caller("POST", "skills/narrow/executions", { headers })).body;
    const second = (await caller("POST", "skills/narrow/executions", { headers })).body;
    expect([first.status, second.status]).toEqual(["RUNNING", "QUEUED"]);
    expect((await caller("GET", `executions/${second.id}`)).body.status).toBe("QUEUED");
    await caller("POST", `executions/${second.id}/cancel`);
    await until(async () => (await caller("GET", `executions/${second.id}`)).body.status === "CANCELLED");
  });
});

describe("statistics", () => {
  test("count by status, skill and time, for the skill, owner and time that are named", async () => {
    const api = await openApi();
    for (const apiKeyId of ["a", "a", "b"]) await api.kit.executor.execute("echo", { text: "a" }, { apiKeyId });
    await api.kit.executor.execute("fails", {}, { apiKeyId: "b" });
    const stats = async (query: string) => (await api.as("operator")("GET", `stats?${query}`)).body;
    const all = await stats("bucket=hour");
    expect(all).toMatchObject({ count: 4, byStatus: { SUCCESS: 3, ERROR: 1 }, bucket: "hour" });
    const succeeded = all.buckets.map(({ counts }: { counts: { SUCCESS?: number } }) => counts.SUCCESS ?? 0);
    expect(succeeded.reduce((sum: number, count: number) => sum + count, 0)).toBe(3);
    expect(all.skills[0]).toMatchObject({ name: "echo", count: 3, failed: 0, p99Ms: expect.any(Number) });
    expect(await stats("skill=fails")).toMatchObject({ count: 1, byStatus: { ERROR: 1 } });
    expect(await stats("owner=a")).toMatchObject({ count: 2, byStatus: { SUCCESS: 2 } });
    expect(await stats("from=2020-01-01T00:00:00Z&to=2020-01-02T00:00:00Z")).toMatchObject({ count: 0, byStatus: {} });
  });

  test.each([
    "bucket=second",
    "from=yesterday",
    "from=2020-01-01T00:00:00Z&to=2030-01-01T00:00:00Z&bucket=minute",
    "from=2030-01-01T00:00:00Z&to=2020-01-01T00:00:00Z",
  ])("refuse %s", async (query) => {
    const { body } = await (await openApi()).as("operator")("GET", `stats?${query}`);
    expect(body).toMatchObject({ status: 400, code: "INVALID_REQUEST" });
  });
});

describe("executions", () => {
  test("are listed page by page, newest first, without inputs and outputs", async () => {
    const api = await openApi();
    const caller = api.as("caller");
    for (let n = 0; n < 7; n++) await caller("POST", "skills/echo/executions", { body: { text: String(n) } });
    const ids: string[] = [];
    for (let cursor = ""; ; ) {
      const { body } = await caller("GET", `executions?limit=3${cursor}`);
      ids.push(...body.items.map(({ id }: { id: string }) => id));
      expect(body.items[0]).not.toHaveProperty("input");
      if (body.nextCursor === null) break;
      cursor = `&cursor=${body.nextCursor}`;
    }
    expect(ids).toHaveLength(7);
    expect(ids).toEqual([...ids].sort().reverse());
  });

  test("have filters for status, skill, version, session, owner and time", async () => {
    const api = await openApi();
    await api.kit.executor.execute("echo", { text: "a" }, { apiKeyId: "a", sessionId: "s" });
    await api.kit.executor.execute("fails", {}, { apiKeyId: "b" });
    const { createdAt } = await api.kit.executor.execute("@scope/echo", { text: "a" }, { apiKeyId: "b" });
    const found = async (query: string) =>
      (await api.as("operator")("GET", `executions?${query}`)).body.items.map(
        ({ skillName }: { skillName: string }) => skillName,
      );
    expect(await found("status=ERROR")).toEqual(["fails"]);
    expect(await found("status=ERROR&status=SUCCESS")).toHaveLength(3);
    expect(await found("status=RUNNING&status=QUEUED")).toEqual([]);
    expect(await found("skill=%40scope%2Fecho&version=1.2.0")).toEqual(["@scope/echo"]);
    expect(await found("skill=echo&version=9.9.9")).toEqual([]);
    expect(await found("session=s")).toEqual(["echo"]);
    expect(await found("owner=b")).toEqual(["@scope/echo", "fails"]);
    expect(await found(`from=${createdAt}`)).toContain("@scope/echo");
    expect(await found(`to=${new Date(Date.parse(createdAt) - 60_000).toISOString()}`)).toEqual([]);
    expect(await found("from=2020-01-01T00:00:00%2B02:00")).toHaveLength(3);
  });

  test.each([
    ["status=DONE", "/status/0"],
    ["limit=0", "/limit"],
    ["limit=1000", "/limit"],
    ["limit=ten", "/limit"],
    ["limit=1&limit=2", "/limit"],
    ["from=yesterday", "/from"],
    ["from=2026-06-30T23:59:60Z", "/from"],
    ["from=2026-01-01T00:00:00+02:00", "/from"],
    ["cursor=stale", "/cursor"],
    ["apiKeyId=other", "/apiKeyId"],
    ["stat=ERROR", "/stat"],
    ["__proto__=1", "/__proto__"],
    ["owner=", "/owner"],
  ])("refuses the query %s and says where", async (query, pointer) => {
    const api = await openApi();
    const { body } = await api.as("operator")("GET", `executions?${query}`);
    expect(body).toMatchObject({ status: 400, code: "INVALID_REQUEST", faults: [{ pointer }] });
  });

  test("an id of a deleted execution is a cursor like any other", async () => {
    const api = await openApi();
    const { id } = await api.kit.executor.execute("echo", { text: "a" }, { apiKeyId: "caller" });
    const older = `${id.slice(0, -12)}000000000000`;
    expect((await api.as("caller")("GET", `executions?cursor=${older}`)).body).toEqual({ items: [], nextCursor: null });
  });

  test("have a tree of the calls made in them, from whichever one is asked for", async () => {
    const api = await openApi();
    const { id } = await api.kit.executor.execute("nests", {}, { apiKeyId: "caller" });
    const { body } = await api.as("caller")("GET", `executions/${id}/tree`);
    expect(body.isCut).toBe(false);
    expect(body.root).toMatchObject({ id, skillName: "nests", output: { first: { text: "a" } } });
    expect(
      body.root.children.map(({ skillName, parentId, children }: Record<string, unknown>) => [skillName, parentId, children]),
    ).toEqual([
      ["echo", id, []],
      ["echo", id, []],
    ]);
    const child = body.root.children[0].id;
    expect((await api.as("caller")("GET", `executions/${child}/tree`)).body.root).toMatchObject({
      id: child,
      parentId: id,
      children: [],
    });
  });

  test("can be run again by an operator, as the owner they had", async () => {
    const api = await openApi();
    const { id } = await api.kit.executor.execute("echo", { text: "a" }, { apiKeyId: "caller", sessionId: "s" });
    const answer = await api.as("operator")("POST", `executions/${id}/retry`);
    expect([answer.status, answer.body]).toEqual([
      201,
      expect.objectContaining({ apiKeyId: "caller", sessionId: "s", output: { text: "a" } }),
    ]);
    expect(answer.body.id).not.toBe(id);
    const where = new URL(answer.headers.get("location") ?? "", `${api.url}/executions/${id}/retry`).href;
    expect(where).toBe(`${api.url}/executions/${answer.body.id}`);
    const denied = await api.kit.executor
      .execute("echo", { text: 1 }, { apiKeyId: "caller" })
      .catch((error) => error.executionId);
    expect((await api.as("operator")("POST", `executions/${denied}/retry`)).body).toMatchObject({
      status: 409,
      code: "INPUT_NOT_STORED",
    });
  });

  test.each(["missing", "%00", "%F0%9F%98%80", "..", "'; drop table skills; --", "x".repeat(2_000)])(
    "none has the id %j",
    async (id) => {
      const api = await openApi();
      const answer = await api.as("admin")("GET", `executions/${id === ".." ? "%2E%2E%2F" : id}`);
      expect(answer.body).toMatchObject({ status: 404, code: "EXECUTION_NOT_FOUND" });
    },
  );
});
