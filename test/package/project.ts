import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { run } from "./run.js";
import { root, type Tarball } from "./tarball.js";

export interface Project {
  /** Runs a file of the project and gives what it prints. */
  node(file: string): Promise<string>;
  /** Compiles the project as its tsconfig.json says, with this repository's TypeScript. */
  compile(): Promise<string>;
  /** Gives better-sqlite3 its native part, which is missing while install scripts are blocked. */
  addBinding(): Promise<void>;
  remove(): Promise<void>;
}

/**
 * A project outside of the repository into which npm installs the tarball, with every install script blocked.
 * @param name a folder of `projects/`
 */
export async function installProject(
  name: string,
  tarball: Tarball,
  packages: Readonly<Record<string, string>>,
  npmOptions: readonly string[] = [],
): Promise<Project> {
  const folder = await mkdtemp(join(tmpdir(), `express-skills-${name}-`));
  await cp(fileURLToPath(new URL(`projects/${name}`, import.meta.url)), folder, { recursive: true });
  const dependencies = { "express-skills": `file:${tarball.path}`, ...packages };
  await writeFile(join(folder, "package.json"), JSON.stringify({ private: true, type: "module", dependencies }));
  const options = ["--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error"];
  await run("npm", ["install", ...options, ...npmOptions], folder);
  return {
    node: (file) => run(process.execPath, [file], folder),
    compile: () => run(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "--project", folder], folder),
    // Compiling it takes a minute, so the repository's own copy stands in.
    addBinding: () =>
      cp(join(root, "node_modules/better-sqlite3"), join(folder, "node_modules/better-sqlite3"), {
        recursive: true,
        force: true,
      }),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
