import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { defaultSkills, SkillExecutor, SkillRegistry, skillExecutor, skillRegistry } from "../../lib/index.js";

// Reads like an application that uses the process-wide registry and executor.

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "express-skills-test-"));
  process.env.SKILLS_DATABASE = join(folder, "skills.db");
});
afterAll(async () => {
  await defaultSkills().close();
  delete process.env.SKILLS_DATABASE;
  rmSync(folder, { recursive: true, force: true });
});

test("a skill is registered, given a handler, and executed", async () => {
  await skillRegistry.register({
    name: "summarizeText",
    version: "1.0.0",
    description: "Summarizes a block of text using a LLM",
    schema: {
      type: "object",
      properties: { text: { type: "string" } },
      required: ["text"],
    },
    handler: "summarizeHandler",
    enabled: true,
    apiKeyId: "default",
    mode: "on",
    sourceProvider: "local",
    tags: ["nlp", "llm"],
  });

  skillExecutor.registerHandler("summarizeHandler", async (input, _ctx) => {
    const text = input.text as string;
    return { summary: text.slice(0, 4).trim() };
  });

  const result = await skillExecutor.execute(
    "summarizeText@1.0.0",
    { text: "Long article body…" },
    { apiKeyId: "default", sessionId: "sess-123" },
  );

  expect(result.status).toBe("SUCCESS");
  expect(result.output?.summary).toBe("Long");
  expect(await skillExecutor.getExecution(result.id)).toMatchObject({ sessionId: "sess-123", output: { summary: "Long" } });
});

test("a skill that fails does not throw: its status and message say so", async () => {
  skillExecutor.registerHandler("failing", () => {
    throw new Error("no model is loaded");
  });
  await skillRegistry.register({ name: "failing", schema: { type: "object" }, handler: "failing", apiKeyId: "default" });

  const result = await skillExecutor.execute("failing", {}, { apiKeyId: "default", sessionId: "sess-123" });

  expect(result.status).toBe("ERROR");
  expect(result.errorMessage).toBe("no model is loaded");
});

test("a handler executes other skills through the singletons, each call with a row of its own and the caller's context", async () => {
  skillExecutor.registerHandler("outer", async (input) => {
    const inner = await SkillExecutor.getInstance().execute("summarizeText@^1.0.0", { text: input.text });
    return { inner: inner.output, sessionId: inner.sessionId, apiKeyId: inner.apiKeyId };
  });
  await SkillRegistry.getInstance().register({
    name: "outer",
    schema: { type: "object" },
    handler: "outer",
    apiKeyId: "default",
  });

  const result = await skillExecutor.execute("outer", { text: "Nested text" }, { apiKeyId: "default", sessionId: "sess-9" });

  expect(result.output).toEqual({ inner: { summary: "Nest" }, sessionId: "sess-9", apiKeyId: "default" });
  const tree = await skillExecutor.listExecutions({ rootId: result.id });
  expect(tree.map((row) => [row.skillName, row.parentId, row.rootId])).toEqual([
    ["summarizeText", result.id, result.id],
    ["outer", null, result.id],
  ]);
});
