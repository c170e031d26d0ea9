import { readdirSync } from "node:fs";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createSkills, type SkillsOptions } from "../../lib/index.js";
import { type LogLine, recordingLogger, temporaryFolder } from "../fixtures/kit.js";

describe("options", () => {
  test.each([
    [{ databse: "x.db" }, 'options has no option "databse"; did you mean "database"?'],
    [{ nonsense: 1 }, 'options has no option "nonsense"; valid are database, logger, timeoutMs, maxTimeoutMs, audit'],
    [{ audit: { maxByte: 1 } }, 'audit has no option "maxByte"; did you mean "maxBytes"?'],
    [{ audit: true }, "audit must be an object"],
    [{ audit: { waitMs: -1 } }, "audit.waitMs must be a number from 1 to 600000, got -1"],
    [{ audit: { maxBytes: Number.NaN } }, "audit.maxBytes must be a number"],
    [{ audit: { retentionDays: 0 } }, "audit.retentionDays must be a number"],
    [{ audit: { required: "yes" } }, "audit.required must be true or false"],
    [{ audit: { durability: "disk" } }, 'audit.durability must be "process" or "power"'],
    [{ timeoutMs: 0 }, "timeoutMs must be a whole number of milliseconds from 1 to 2147483647, got 0"],
    [{ maxTimeoutMs: 2 ** 31 }, "maxTimeoutMs must be a whole number"],
    [{ database: "" }, "database must be a file"],
    [{ logger: { info() {} } }, "logger must have the methods debug, info, warn and error"],
    [null, "options must be an object"],
  ])("%j are refused at once: %s", (options, message) => {
    expect(() => createSkills(options as SkillsOptions)).toThrow(
      expect.objectContaining({ code: "INVALID_OPTION", message: expect.stringContaining(message) }),
    );
  });

  test("that are undefined count as left out", () => {
    expect(() =>
      createSkills({ database: undefined, logger: undefined, timeoutMs: undefined, maxTimeoutMs: undefined, audit: undefined }),
    ).not.toThrow();
  });

  test("for a database that is not SQLite are refused without repeating the URL, which may hold a password", async () => {
    const kit = createSkills({ database: "mysql://root:hunter2@localhost/x", logger: recordingLogger([]) });
    const error = await kit.ready().catch((thrown: Error) => thrown);
    expect(error).toMatchObject({ code: "INVALID_OPTION" });
    expect(String(error)).not.toContain("hunter2");
    await kit.close();
  });
});

test("nothing is opened before the first use; the default database is made in the working directory, said at info level", async () => {
  const folder = temporaryFolder();
  const before = process.cwd();
  onTestFinished(() => process.chdir(before));
  process.chdir(folder);
  const lines: LogLine[] = [];
  const kit = createSkills({ logger: recordingLogger(lines) });
  expect(readdirSync(folder)).toEqual([]);
  await kit.ready();
  expect(readdirSync(folder)).toContain("skills.db");
  expect(lines).toMatchObject([{ level: "info", fields: { database: "skills.db" } }]);
  await kit.close();
});

test("the default logger is silent except for warnings and errors", async () => {
  const said: string[] = [];
  for (const method of ["log", "info", "debug", "warn", "error"] as const) {
    const spy = vi.spyOn(console, method).mockImplementation((...words: unknown[]) => void said.push(`${method}: ${words[0]}`));
    onTestFinished(() => spy.mockRestore());
  }
  const kit = createSkills({ database: ":memory:" });
  kit.define({ name: "talks", schema: { type: "object" }, handler: (_, context) => context.log("hello") });
  await kit.executor.run("talks", {});
  expect(said).toEqual([]);
  kit.define({ name: "talks", schema: { type: "object", title: "other" }, handler: () => null });
  await kit.ready();
  expect(said).toEqual(["warn: express-skills: a definition replaces other content of the same version"]);
  await kit.close();
});
