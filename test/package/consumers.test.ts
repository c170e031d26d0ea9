import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { installProject, type Project } from "./project.js";
import { packTarball, type Tarball } from "./tarball.js";

let folder: string;
let tarball: Tarball;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "express-skills-pack-"));
  tarball = await packTarball(folder);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe.each(["4", "5"])("a project with express %s and its types", (major) => {
  let project: Project;
  beforeAll(async () => {
    project = await installProject("express", tarball, { express: `^${major}`, "@types/express": `^${major}`, zod: "^4" });
    await project.addBinding();
  }, 240_000);
  afterAll(() => project?.remove());

  test("runs the package from JavaScript", async () => {
    expect(await project.node("main.js")).toBe("works\n");
  });

  test("compiles against its types, strictly and with every declaration checked, and runs", { timeout: 240_000 }, async () => {
    expect(await project.compile()).toBe("");
    expect(await project.node("out/main.js")).toBe("works\n");
  });
});

describe("a project without express, whose install scripts were blocked", () => {
  let project: Project;
  beforeAll(async () => {
    project = await installProject("core", tarball, { "@types/node": "^20" }, ["--omit=peer"]);
  }, 240_000);
  afterAll(() => project?.remove());

  test("compiles against express-skills/core", { timeout: 240_000 }, async () => {
    expect(await project.compile()).toBe("");
  });

  test("can import nothing but the two entries, and has no express", async () => {
    expect(await project.node("closed.js")).toBe("works\n");
  });

  test("is told which driver lacks its native part and how to cure it, unless this Node has a driver of its own", async () => {
    const printed = await project.node("out/main.js");
    if (hasNodeSqlite()) {
      expect(printed).toBe("works\n");
      return;
    }
    expect(printed).toMatch(/^STORE_DRIVER_UNAVAILABLE: /);
    expect(printed).toContain("better-sqlite3");
    expect(printed).toContain("npm rebuild better-sqlite3");
    expect(printed).toContain("npm approve-scripts better-sqlite3");
  });

  test("works when the native part is there", async () => {
    await project.addBinding();
    expect(await project.node("out/main.js")).toBe("works\n");
  });
});

function hasNodeSqlite(): boolean {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  return major > 22 || (major === 22 && minor >= 13);
}
