import fc from "fast-check";
import semver from "semver";
import { describe, expect, test } from "vitest";
import { isSkillError } from "../../../lib/errors.js";
import { Catalogue } from "../../../lib/registry/catalogue.js";
import { parseReference } from "../../../lib/registry/reference.js";
import type { SkillHead } from "../../../lib/types.js";
import { collectGarbage } from "./garbage.js";

function head(reference: string, fields: Partial<SkillHead> = {}): SkillHead {
  const at = reference.lastIndexOf("@");
  const [name, version] = [reference.slice(0, at), reference.slice(at + 1)];
  const owner = fields.apiKeyId ?? "system";
  return {
    id: `${owner} ${reference}`,
    apiKeyId: owner,
    name,
    version,
    description: "",
    enabled: true,
    mode: "on",
    tags: [],
    sourceProvider: null,
    contentHash: reference,
    createdAt: "2024-01-01T00:00:00.000Z",
    updatedAt: "2024-01-01T00:00:00.000Z",
    ...fields,
  };
}

function catalogueOf(...heads: SkillHead[]): Catalogue {
  const catalogue = new Catalogue();
  for (const each of heads) catalogue.put(each);
  return catalogue;
}

const resolve = (catalogue: Catalogue, reference: string, caller = "default") =>
  catalogue.resolve(parseReference(reference), caller).version;

function refusal(catalogue: Catalogue, reference: string, caller = "default"): string {
  try {
    return `found ${resolve(catalogue, reference, caller)}`;
  } catch (error) {
    if (!isSkillError(error)) throw error;
    return `${error.code}: ${error.message}`;
  }
}

describe("versions", () => {
  const catalogue = catalogueOf(
    head("a@1.0.0"),
    head("a@1.4.0"),
    head("a@2.0.0", { enabled: false }),
    head("a@2.1.0-rc.1"),
    head("a@0.9.0"),
  );

  test.each([
    ["a", "1.4.0"],
    ["a@latest", "1.4.0"],
    ["a@1.0.0", "1.0.0"],
    ["a@^1", "1.4.0"],
    ["a@>=0.1 <1", "0.9.0"],
    ["a@0.9.0 - 1.0.0", "1.0.0"],
    ["a@^0.9 || ^3", "0.9.0"],
    ["a@*", "1.4.0"],
    ["a@^2.1.0-rc.0", "2.1.0-rc.1"],
    ["a@2.1.0-rc.1", "2.1.0-rc.1"],
  ])("%s resolves to %s", (reference, version) => {
    expect(resolve(catalogue, reference)).toBe(version);
  });

  test("an exact reference to a disabled version says so", () => {
    expect(refusal(catalogue, "a@2.0.0")).toBe("SKILL_DISABLED: a@2.0.0 is disabled.");
  });

  test("a range that matches nothing says what exists, nearest first", () => {
    expect(refusal(catalogue, "a@^2")).toBe(
      'SKILL_NOT_FOUND: The skill a has no version that matches "^2": 2.1.0-rc.1 exists but is a prerelease; 2.0.0 is disabled; 1.4.0 exists; 1.0.0 exists; 0.9.0 exists.',
    );
  });

  test("only a prerelease exists and a stable range is asked", () => {
    const only = catalogueOf(head("b@2.0.0-rc.1"));
    expect(refusal(only, "b@^2.0.0")).toContain("2.0.0-rc.1 exists but is a prerelease");
    expect(refusal(only, "b")).toContain("2.0.0-rc.1 exists but is a prerelease");
  });

  test("a message lists a bounded number of versions", () => {
    const many = catalogueOf(...Array.from({ length: 1_000 }, (_, index) => head(`a@1.${index}.0`)));
    expect(refusal(many, "a@^9")).toMatch(/; and 995 more\.$/);
  });

  test("a change is seen by ranges that were resolved before", () => {
    const changing = catalogueOf(head("a@1.0.0"));
    expect(resolve(changing, "a@^1")).toBe("1.0.0");
    changing.put(head("a@1.1.0"));
    expect(resolve(changing, "a@^1")).toBe("1.1.0");
    changing.put(head("a@1.1.0", { enabled: false }));
    expect(resolve(changing, "a@^1")).toBe("1.0.0");
    changing.remove("system a@1.0.0");
    expect(refusal(changing, "a@^1")).toMatch(/^SKILL_DISABLED: .*only version 1\.1\.0 is disabled/);
    changing.remove("system a@1.1.0");
    expect(refusal(changing, "a@^1")).toBe("SKILL_NOT_FOUND: There is no skill a.");
    expect(changing.size).toBe(0);
  });

  test("resolution is that of node-semver over the enabled versions, in whatever order they come and go", () => {
    const version = fc
      .tuple(fc.nat(3), fc.nat(3), fc.nat(3), fc.constantFrom("", "", "", "-rc.1", "-beta.2"))
      .map(([a, b, c, pre]) => `${a}.${b}.${c}${pre}`);
    const range = fc.oneof(
      fc.tuple(fc.constantFrom("^", "~", ">=", "<", ">", "<=", ""), version).map(([operator, v]) => operator + v),
      fc.tuple(version, version).map(([a, b]) => `>=${a} <${b}`),
      fc.tuple(version, version).map(([a, b]) => `^${a} || ~${b}`),
      fc.constantFrom("*", "1.x", "1.2.x", "0 || 2"),
    );
    const changes = fc.array(fc.record({ version, enabled: fc.boolean(), removed: fc.constantFrom(false, false, false, true) }), {
      minLength: 1,
      maxLength: 30,
    });
    fc.assert(
      fc.property(changes, fc.array(range, { minLength: 1, maxLength: 5 }), (steps, ranges) => {
        const catalogue = new Catalogue();
        const enabled = new Map<string, boolean>();
        for (const step of steps) {
          if (step.removed) catalogue.remove(`system a@${step.version}`);
          else catalogue.put(head(`a@${step.version}`, { enabled: step.enabled }));
          if (step.removed) enabled.delete(step.version);
          else enabled.set(step.version, step.enabled);
          const candidates = [...enabled].filter(([, isEnabled]) => isEnabled).map(([v]) => v);
          for (const each of ranges) {
            const expected = semver.maxSatisfying(candidates, each);
            const answer = refusal(catalogue, `a@${each}`);
            if (expected === null) expect(answer).toMatch(/^SKILL_(NOT_FOUND|DISABLED)/);
            else expect(answer).toBe(`found ${expected}`);
          }
        }
      }),
      { numRuns: 200 },
    );
  });
});

describe("owners", () => {
  const catalogue = catalogueOf(
    head("a@1.0.0", { apiKeyId: "own" }),
    head("a@2.0.0"),
    head("b@1.0.0", { apiKeyId: "own", enabled: false }),
    head("b@1.0.0"),
    head("secret@7.7.7", { apiKeyId: "other" }),
  );

  test("an owner's own version comes before a higher one of system", () => {
    expect(resolve(catalogue, "a", "own")).toBe("1.0.0");
    expect(resolve(catalogue, "a", "anyone")).toBe("2.0.0");
    expect(refusal(catalogue, "a@^2", "own")).toMatch(/^SKILL_NOT_FOUND: .*1\.0\.0 exists\.$/);
  });

  test("an owner whose versions are all disabled does not fall through to system", () => {
    expect(refusal(catalogue, "b", "own")).toMatch(/^SKILL_DISABLED/);
    expect(resolve(catalogue, "b", "anyone")).toBe("1.0.0");
  });

  test("another owner's skill does not exist, not even in a message", () => {
    expect(refusal(catalogue, "secret@7.7.7", "own")).toBe("SKILL_NOT_FOUND: There is no skill secret.");
    expect(refusal(catalogue, "secret", "own")).toBe("SKILL_NOT_FOUND: There is no skill secret.");
  });

  test("a caller sees own skills and those of system under other names", () => {
    expect([...catalogue.heads("own")].map(({ id }) => id)).toEqual(["own a@1.0.0", "own b@1.0.0"]);
    expect([...catalogue.heads("anyone")].map(({ id }) => id)).toEqual(["system a@2.0.0", "system b@1.0.0"]);
    expect([...catalogue.heads()]).toHaveLength(5);
  });

  test("the list goes on after a position, also after a version that does not exist", () => {
    const many = catalogueOf(...["b@1.0.0", "b@10.0.0", "b@9.0.0", "a@1.0.0", "c@1.0.0"].map((id) => head(id)));
    const namesAfter = (version: string, name = "b", apiKeyId = "system") =>
      [...many.heads(undefined, { name, apiKeyId, version })].map(({ name, version }) => `${name}@${version}`);
    expect(namesAfter("10.0.0")).toEqual(["b@9.0.0", "b@1.0.0", "c@1.0.0"]);
    expect(namesAfter("9.5.0")).toEqual(["b@9.0.0", "b@1.0.0", "c@1.0.0"]);
    expect(namesAfter("1.0.0", "b", "nobody")).toEqual(["b@10.0.0", "b@9.0.0", "b@1.0.0", "c@1.0.0"]);
    expect(namesAfter("1.0.0", "c")).toEqual([]);
    many.put(head("bb@1.0.0"));
    expect(namesAfter("1.0.0")).toEqual(["bb@1.0.0", "c@1.0.0"]);
    many.remove("system bb@1.0.0");
    expect(namesAfter("1.0.0")).toEqual(["c@1.0.0"]);
  });

  test("names and owners that exist on every object are only names", () => {
    const strange = catalogueOf(head("constructor@1.0.0"), head("toString@1.0.0", { apiKeyId: "__proto__" }));
    expect(resolve(strange, "constructor", "__proto__")).toBe("1.0.0");
    expect(resolve(strange, "toString", "__proto__")).toBe("1.0.0");
    expect(refusal(strange, "hasOwnProperty", "constructor")).toMatch(/^SKILL_NOT_FOUND/);
  });
});

test("fifty thousand different ranges from callers leave no memory behind", () => {
  const catalogue = catalogueOf(head("a@1.0.0"));
  for (let index = 0; index < 5_000; index++) refusal(catalogue, `a@>=0.0.${index}`);
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  for (let index = 0; index < 50_000; index++) refusal(catalogue, `a@${index % 2 === 0 ? ">=" : ">1."}0.${index}`);
  collectGarbage();
  expect((process.memoryUsage().heapUsed - before) / 2 ** 20).toBeLessThan(5);
});
