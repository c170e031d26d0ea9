import { chmod, mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { SkillError } from "../errors.js";

export type Files = Readonly<Record<string, string | Uint8Array>>;

const maxFiles = 100;
const maxFilesBytes = 10 * 1024 * 1024;
const segment = /^[A-Za-z0-9_@+=-][A-Za-z0-9._@+=-]*$|^\.[A-Za-z0-9_-][A-Za-z0-9._-]*$/;

/** Checks the files of a run: relative paths without `..`, sizes, and no file where another one needs a folder. @throws `INVALID_OPTION` */
export function validateFiles(files: Files): void {
  if (typeof files !== "object" || files === null || Array.isArray(files))
    throw new SkillError("INVALID_OPTION", "files must be an object of paths to content.");
  const paths = Object.keys(files);
  if (paths.length > maxFiles)
    throw new SkillError("INVALID_OPTION", `files has ${paths.length} entries; at most ${maxFiles} are possible.`);
  let bytes = 0;
  for (const path of paths) {
    const segments = path.split("/");
    if (path.length > 200 || !segments.every((part) => segment.test(part))) {
      throw new SkillError(
        "INVALID_OPTION",
        `files has the path ${JSON.stringify(path.slice(0, 200))}; a path is relative, without .., at most 200 letters, digits and . _ - + = @ /.`,
      );
    }
    for (let depth = 1; depth < segments.length; depth++) {
      const folder = segments.slice(0, depth).join("/");
      if (Object.hasOwn(files, folder)) throw new SkillError("INVALID_OPTION", `files has ${folder} as a file and as a folder.`);
    }
    const content = files[path];
    if (typeof content !== "string" && !(content instanceof Uint8Array)) {
      throw new SkillError("INVALID_OPTION", `files[${JSON.stringify(path)}] must be a string or a Uint8Array.`);
    }
    bytes += typeof content === "string" ? Buffer.byteLength(content) : content.byteLength;
  }
  if (bytes > maxFilesBytes)
    throw new SkillError("INVALID_OPTION", `files has ${bytes} bytes; at most ${maxFilesBytes} are possible.`);
}

/** The names directly under the working directory: each one is mounted by itself, so that the folder stays writable. */
export function topLevelNames(files: Files): readonly string[] {
  return [...new Set(Object.keys(files).map((path) => path.split("/")[0] ?? path))];
}

/** Writes the files for a mount. They are readable by every user: the container's user is not ours. */
export async function writeFiles(files: Files, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const folders = new Set([folder]);
  for (const [path, content] of Object.entries(files)) {
    const target = join(folder, path);
    await mkdir(dirname(target), { recursive: true });
    for (let above = dirname(target); above.length > folder.length; above = dirname(above)) folders.add(above);
    await writeFile(target, content);
    // The mode of a new file or folder is subject to the process's umask.
    await chmod(target, 0o444);
  }
  for (const made of folders) await chmod(made, 0o755);
}
