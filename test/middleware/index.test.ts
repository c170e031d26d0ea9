import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";

/** The names, values and types, that a file with nothing but named re-exports gives. */
async function exportedNames(path: string): Promise<string[]> {
  const source = await readFile(new URL(`../../${path}`, import.meta.url), "utf8");
  const lists = [...source.matchAll(/export (?:type )?\{([^}]*)\}/g)].map((match) => match[1] ?? "");
  const names = lists.flatMap((list) => list.split(",").map((name) => name.trim().replace(/^type /, "")));
  return names.filter((name) => name !== "").toSorted();
}

test("the main entry gives everything of the core, and what is for Express", async () => {
  const core = await exportedNames("lib/index.ts");
  const main = await exportedNames("middleware/index.ts");
  expect(core.length).toBeGreaterThan(30);
  expect(core.filter((name) => !main.includes(name))).toEqual([]);
  expect(main).toEqual(expect.arrayContaining(["skills", "skill", "parallel", "respond", "skillErrors", "SkillResults"]));
});
