import { describe, expect, test } from "vitest";
import { skillExecutor, skillRegistry } from "../../../lib/index.js";
import { openTestKit } from "../../fixtures/kit.js";

const anything = { type: "object" } as const;

describe("a call made inside a handler", () => {
  test("has the caller's owner, session, request, parent and root, through context and through the executor", async () => {
    const kit = openTestKit();
    kit.define({ name: "leaf", schema: anything, handler: () => 1 });
    kit.define({
      name: "middle",
      schema: anything,
      handler: async (_, context) => {
        await new Promise((resolve) => setImmediate(resolve));
        await context.execute("leaf", {});
        return kit.executor.run("leaf", {});
      },
    });
    kit.define({ name: "top", schema: anything, handler: (_, context) => context.run("middle", {}) });
    const top = await kit.executor.execute("top", {}, { apiKeyId: "k1", sessionId: "s1", requestId: "r1" });
    const rows = await kit.executor.listExecutions({ rootId: top.id });
    expect(rows).toHaveLength(4);
    for (const row of rows)
      expect(row).toMatchObject({ apiKeyId: "k1", sessionId: "s1", requestId: "r1", rootId: top.id, status: "SUCCESS" });
    const middle = rows.find((row) => row.skillName === "middle");
    expect(middle?.parentId).toBe(top.id);
    expect(rows.filter((row) => row.parentId === middle?.id).map((row) => row.skillName)).toEqual(["leaf", "leaf"]);
  });

  test("through the process-wide facades means the kit of the running call", async () => {
    const kit = openTestKit();
    kit.define({ name: "leaf", schema: anything, handler: () => "from this kit" });
    kit.define({
      name: "top",
      schema: anything,
      handler: async () => [await skillExecutor.run("leaf", {}), (await skillRegistry.getSkillVersions("leaf")).length],
    });
    expect(await kit.executor.run("top", {})).toEqual(["from this kit", 1]);
  });

  test("cannot outlive the calling one, whatever limit it asks for", async () => {
    const kit = openTestKit();
    const aborted: unknown[] = [];
    kit.define({
      name: "slow",
      schema: anything,
      timeoutMs: 60_000,
      handler: (_, { signal, deadline }) =>
        new Promise((_resolve, reject) => {
          const leftMs = deadline - Date.now();
          signal.addEventListener("abort", () => {
            aborted.push([leftMs <= 300, (signal.reason as { code: string }).code]);
            reject(signal.reason);
          });
        }),
    });
    kit.define({ name: "top", schema: anything, handler: (_, context) => context.run("slow", {}) });
    const top = await kit.executor.execute("top", {}, { timeoutMs: 300 });
    expect(top.status).toBe("TIMEOUT");
    expect(aborted).toEqual([[true, "SKILL_TIMEOUT"]]);
    const [slow] = await kit.executor.listExecutions({ parentId: top.id });
    expect(slow).toMatchObject({ status: "TIMEOUT", errorCode: "SKILL_TIMEOUT" });
  });

  test("is refused at depth 16, with the chain in the error", async () => {
    const kit = openTestKit();
    kit.define({ name: "again", schema: anything, handler: (_, context) => context.run("again", {}) });
    const error = await kit.executor.run("again", {}).catch((thrown: Error) => thrown);
    const rows = await kit.executor.listExecutions();
    expect(rows.filter((row) => row.status === "ERROR")).toHaveLength(16);
    expect(rows.filter((row) => row.status === "DENIED")).toMatchObject([
      { errorCode: "DEPTH_EXCEEDED", errorMessage: expect.stringContaining(Array(17).fill("again@1.0.0").join(" > ")) },
    ]);
    expect(error).toMatchObject({ code: "SKILL_FAILED" });
  });

  test("of another kit keeps the deadline and counts the depth, but has a tree of its own", async () => {
    const [one, two] = [openTestKit(), openTestKit()];
    one.define({ name: "ping", schema: anything, handler: () => two.executor.run("pong", {}) });
    two.define({ name: "pong", schema: anything, handler: () => one.executor.run("ping", {}) });
    await expect(one.executor.run("ping", {}, { apiKeyId: "k1" })).rejects.toMatchObject({ code: "SKILL_FAILED" });
    expect((await one.executor.countExecutions()) + (await two.executor.countExecutions())).toBe(17);
    const rows = await two.executor.listExecutions();
    for (const row of rows) expect(row).toMatchObject({ parentId: null, rootId: row.id, apiKeyId: "k1" });
  });

  test("sees the caller's own version of a skill, not that of system", async () => {
    const kit = openTestKit();
    kit.define({ name: "who", version: "2.0.0", schema: anything, handler: () => "system" });
    kit.define({ name: "who", version: "1.0.0", apiKeyId: "k1", schema: anything, handler: () => "own" });
    kit.define({ name: "ask", schema: anything, handler: (_, context) => context.run("who", {}) });
    expect(await kit.executor.run("ask", {}, { apiKeyId: "k1" })).toBe("own");
    expect(await kit.executor.run("ask", {}, { apiKeyId: "k2" })).toBe("system");
  });
});
