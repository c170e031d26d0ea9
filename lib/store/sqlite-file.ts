import { constants } from "node:fs";
import { access, open, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { SkillError } from "../errors.js";

/**
 * Makes sure that a database file is there and may be written, because SQLite itself only says "unable to open". A new file is
 * readable by its owner alone (mode 0600): it holds what users sent. SQLite gives its side files the same mode.
 * @throws STORE_INVALID
 */
export async function prepareSqliteFile(file: string): Promise<void> {
  try {
    // Exclusive: an existing file must not be opened here, since closing it would drop the locks this process holds on it.
    await (await open(file, "wx", 0o600)).close();
    return;
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw cannotUse(file, error);
  }
  try {
    if ((await stat(file)).isDirectory()) throw Object.assign(new Error("it is a directory"), { code: "EISDIR" });
    await access(file, constants.R_OK | constants.W_OK);
  } catch (error) {
    throw cannotUse(file, error);
  }
}

function cannotUse(file: string, error: unknown): SkillError {
  const reason = reasons[errorCode(error) ?? ""]?.(file) ?? (error instanceof Error ? error.message : String(error));
  return new SkillError("STORE_INVALID", `The database ${file} cannot be used: ${reason}`, { cause: error });
}

const reasons: Readonly<Record<string, (file: string) => string>> = {
  ENOENT: (file) => `the folder ${dirname(file)} does not exist. Create it, or name another file.`,
  ENOTDIR: (file) => `${dirname(file)} is not a folder. Name another file.`,
  EISDIR: () => "it is a folder. Name a file.",
  EACCES: () => "this process may not read and write it. Change its permissions or its folder's, or name another file.",
  EPERM: () => "this process may not read and write it. Change its permissions or its folder's, or name another file.",
  EROFS: () => "it is on a read-only file system. Name a file that can be written.",
};

function errorCode(error: unknown): string | undefined {
  const code = error instanceof Error ? (error as { code?: unknown }).code : undefined;
  return typeof code === "string" ? code : undefined;
}
