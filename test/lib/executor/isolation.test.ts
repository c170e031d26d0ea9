import { describe, expect, test } from "vitest";
import { openTestKit } from "../../fixtures/kit.js";

const anything = { type: "object" } as const;

describe("owners", () => {
  test("never see each other's names, versions or handlers in an error or a list", async () => {
    const kit = openTestKit();
    kit.executor.registerHandler("shared", () => 1);
    for (const version of ["1.0.0", "7.7.7"])
      await kit.registry.register({ name: "hidden", version, schema: anything, handler: "shared", apiKeyId: "alice" });
    const asBob = { apiKeyId: "bob" };
    for (const reference of ["hidden", "hidden@1.0.0", "hidden@^2", "hidden@7.7.7"]) {
      const error = await kit.executor.run(reference, {}, asBob).catch((thrown: Error) => thrown);
      expect(error).toMatchObject({ code: "SKILL_NOT_FOUND", message: "There is no skill hidden." });
    }
    expect(await kit.registry.getSkillVersions("hidden", "bob")).toEqual([]);
    expect(await kit.registry.getSkill("hidden", "bob")).toBeUndefined();
    expect(await kit.registry.list({ visibleTo: "bob" })).toEqual([]);
    await expect(kit.registry.setEnabled("hidden", "1.0.0", false, "bob")).rejects.toMatchObject({ code: "SKILL_NOT_FOUND" });
    expect(await kit.registry.unregister("hidden", undefined, "bob")).toBe(0);
    expect(await kit.executor.run("hidden", {}, { apiKeyId: "alice" })).toBe(1);
  });

  test("have their own idempotency keys", async () => {
    const kit = openTestKit();
    kit.define({ name: "who", schema: anything, handler: (_, { apiKeyId }) => apiKeyId });
    for (const apiKeyId of ["alice", "bob"])
      expect(await kit.executor.run("who", {}, { apiKeyId, idempotencyKey: "same" })).toBe(apiKeyId);
  });

  test.each(["half \ud800", "half \udc00", "\u0085", "\n", "\u0000", "", "x".repeat(201)])(
    "cannot be called %j: what the database changes would make two owners one",
    async (apiKeyId) => {
      const kit = openTestKit();
      await expect(kit.executor.execute("who", {}, { apiKeyId })).rejects.toMatchObject({ code: "INVALID_OPTION" });
    },
  );

  test("cannot run a handler that define() made for another skill, whose schema they would not keep", async () => {
    const kit = openTestKit();
    kit.define({ name: "remove", schema: { type: "object", required: ["id"] }, handler: () => "removed" });
    await kit.ready();
    await kit.registry.register({ name: "remove", schema: anything, handler: "remove@1.0.0", apiKeyId: "mallory" });
    await kit.registry.register({ name: "other", schema: anything, handler: "remove@1.0.0" });
    await expect(kit.executor.run("remove", {}, { apiKeyId: "mallory" })).rejects.toMatchObject({ code: "HANDLER_NOT_FOUND" });
    await expect(kit.executor.run("other", {})).rejects.toMatchObject({ code: "HANDLER_NOT_FOUND" });
    expect(await kit.executor.run("remove", { id: 1 })).toBe("removed");
  });
});

describe("what is asked of the history", () => {
  test.each([{ apiKeyID: "alice" }, { skilName: "x" }, { apiKeyId: 1 }, { status: [1] }, { cursor: {} }, null, "all"])(
    "with the filter %j is refused, since a condition that is not understood would match everything",
    async (filter) => {
      const kit = openTestKit();
      await expect(kit.executor.listExecutions(filter as object)).rejects.toMatchObject({ code: "INVALID_OPTION" });
      await expect(kit.executor.countExecutions(filter as object)).rejects.toMatchObject({ code: "INVALID_OPTION" });
    },
  );

  test.each([{}, Symbol("x"), null, undefined, 1n, Object.create(null)])("by an id that is no text finds nothing", async (id) => {
    const kit = openTestKit();
    expect(await kit.executor.getExecution(id as string)).toBeUndefined();
    await expect(kit.executor.retry(id as string)).rejects.toMatchObject({ code: "EXECUTION_NOT_FOUND" });
    await expect(kit.executor.cancel(id as string)).rejects.toMatchObject({ code: "EXECUTION_NOT_FOUND" });
  });
});

test("a hostile definition is a fault of its own: other skills run, and ready() says what is wrong", async () => {
  const kit = openTestKit();
  const hostile = Object.defineProperty({ name: "bad", schema: anything, handler: () => 1 }, "tags", {
    enumerable: true,
    get: () => {
      throw new Error("no tags");
    },
  });
  kit.define(hostile as { name: string; schema: { type: "object" }; handler: () => number });
  kit.define({ name: "good", schema: anything, handler: () => "good" });
  expect(await kit.executor.run("good", {})).toBe("good");
  await expect(kit.ready()).rejects.toMatchObject({ code: "INVALID_DEFINITION", message: expect.stringContaining("no tags") });
});
