import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { errorTable, type SkillErrorCode } from "../lib/index.js";

const root = fileURLToPath(new URL("..", import.meta.url));
const readme = readFileSync(join(root, "README.md"), "utf8");
const codes = Object.keys(errorTable) as SkillErrorCode[];

/** `code -> [status, shown or internal]` of the README's table. */
const documented = new Map(
  [...readme.matchAll(/^\| `([A-Z_]+)` \| (\d{3}) \| (shown|internal) \| (.+) \|$/gm)].map(([, code, status, text, what]) => [
    code,
    { status: Number(status), text, what },
  ]),
);

describe("the README's table of errors", () => {
  test.each(codes)("has %s with its status and whether its text is shown", (code) => {
    const { status, expose } = errorTable[code];
    expect(documented.get(code)).toMatchObject({ status, text: expose ? "shown" : "internal" });
  });

  test("says of the retryable codes, and of no others, that they are", () => {
    const saysSo = [...documented].filter(([, { what }]) => what?.includes("Retryable")).map(([code]) => code);
    expect(saysSo.sort()).toEqual(codes.filter((code) => errorTable[code].retryable).sort());
  });

  test("has no code that does not exist", () => {
    expect([...documented.keys()].filter((code) => !codes.includes(code as SkillErrorCode))).toEqual([]);
  });
});

describe("every error code", () => {
  const tests = readdirSync(join(root, "test"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".test.ts") && file !== "docs.test.ts")
    .map((file) => readFileSync(join(root, "test", file), "utf8"))
    .join("\n");
  test.each(codes)("%s is expected by a test", (code) => {
    expect(tests).toContain(`"${code}"`);
  });
});

describe("the README's tables of options", () => {
  const source = readFileSync(join(root, "lib/options.ts"), "utf8");

  test("have every option, and no other", () => {
    const names = (table: string) => {
      const body = new RegExp(`const ${table} = \\{([^}]*)\\}`).exec(source)?.[1] ?? "";
      return [...body.matchAll(/(\w+): true/g)].map(([, name]) => name);
    };
    const options = [...names("OPTIONS"), "identify", ...names("AUDIT_OPTIONS").map((name) => `audit.${name}`)];
    const section = readme.slice(readme.indexOf("\n## Options"), readme.indexOf("\n## Errors"));
    const listed = [...section.matchAll(/^\| `([\w.]+)` \|/gm)].map(([, name]) => name);
    expect(options.length).toBeGreaterThan(8);
    expect([...listed].sort()).toEqual([...options].sort());
  });

  test("have every option of the sandbox, and no other", () => {
    const body = /const SANDBOX_OPTIONS = Object\.keys\(\{([^}]*)\}/.exec(source)?.[1] ?? "";
    const options = [...body.matchAll(/(\w+): true/g)].map(([, name]) => name);
    const tables = [...readme.matchAll(/^\| `sandbox` option \|.*\n\|[-|]+\n((?:\|.*\n)+)/gm)].map(([, rows]) => rows).join("");
    const listed = [...tables.matchAll(/^\| ([^|]+) \|/gm)].flatMap(([, cell = ""]) => cell.match(/\w+/g) ?? []);
    expect(options.length).toBeGreaterThan(8);
    expect([...listed].sort()).toEqual([...options].sort());
  });
});
