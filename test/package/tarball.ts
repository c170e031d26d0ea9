import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { run } from "./run.js";

export const root = fileURLToPath(new URL("../..", import.meta.url));

export interface Tarball {
  readonly path: string;
  /** What is in it, without the leading `package/`. */
  readonly files: readonly string[];
}

/**
 * Packs what `npm publish` would send. Scripts are off because other tests use `dist` at the same time, which `prepack` would make anew.
 */
export async function packTarball(folder: string): Promise<Tarball> {
  requireFreshBuild();
  const output = await run("npm", ["pack", "--ignore-scripts", "--json", "--pack-destination", folder], root);
  // An array until npm 11, an object by package name since npm 12.
  const [packed] = Object.values(JSON.parse(output) as Record<string, { filename: string; files: { path: string }[] }>);
  if (packed === undefined) throw new Error(`npm pack said nothing: ${output}`);
  return { path: join(folder, packed.filename), files: packed.files.map(({ path }) => path) };
}

function requireFreshBuild(): void {
  const built = join(root, "dist/middleware/index.js");
  if (!existsSync(built) || statSync(built).mtimeMs < newestSource()) {
    throw new Error("dist is missing or older than the source: run `npm run build` first (`npm test` does it)");
  }
}

function newestSource(): number {
  const entries = ["lib", "middleware"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true }).filter(
      (entry) => entry.isFile() && !entry.name.endsWith(".png"),
    ),
  );
  return Math.max(...entries.map((entry) => statSync(join(entry.parentPath, entry.name)).mtimeMs));
}
