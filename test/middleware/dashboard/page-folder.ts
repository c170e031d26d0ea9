import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "vite";
import { afterAll, beforeAll } from "vitest";

const configFile = fileURLToPath(new URL("../../../vite.config.ts", import.meta.url));

/** Builds the page as `npm run build` does, into a folder of the test file's own; gives its address. */
export function buildPage(): () => URL {
  const folder = mkdtempSync(join(tmpdir(), "express-skills-page-"));
  beforeAll(async () => {
    await build({ configFile, logLevel: "error", mode: "production", build: { outDir: folder, emptyOutDir: true } });
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return () => pathToFileURL(`${folder}/`);
}
