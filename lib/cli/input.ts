import { readFile, stat } from "node:fs/promises";
import { addAbortSignal } from "node:stream";
import { SkillError } from "../errors.js";
import type { CommandContext } from "./command.js";

const MAX_BYTES = 16 * 1024 * 1024;

/**
 * The input of a run: JSON as it is written, of `@file`, or of the standard input for `-`.
 * @throws INVALID_OPTION
 */
export async function readInput(text: string, { stdin, signal }: Pick<CommandContext, "stdin" | "signal">): Promise<unknown> {
  if (text === "-") return parseJson(await readStream(addAbortSignal(signal, stdin)), "The standard input");
  if (text.startsWith("@")) return readJsonFile(text.slice(1));
  return parseJson(text, "--input");
}

/** @throws INVALID_OPTION */
export async function readJsonFile(path: string): Promise<unknown> {
  let text: string;
  try {
    const { size } = await stat(path);
    if (size > MAX_BYTES) throw tooLarge(path);
    text = await readFile(path, "utf8");
  } catch (error) {
    if (error instanceof SkillError) throw error;
    throw new SkillError("INVALID_OPTION", `${path} cannot be read: ${reasonOf(error)}.`, { cause: error });
  }
  return parseJson(text, path);
}

async function readStream(stdin: CommandContext["stdin"]): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stdin) {
    const buffer = Buffer.from(chunk as string | Uint8Array);
    bytes += buffer.length;
    if (bytes > MAX_BYTES) throw tooLarge("The standard input");
    chunks.push(buffer);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function parseJson(text: string, where: string): unknown {
  if (text.trim() === "") throw new SkillError("INVALID_OPTION", `${where} is empty; it must be JSON such as {"text":"Hello"}.`);
  try {
    return JSON.parse(text.replace(/^\ufeff/, ""));
  } catch (error) {
    throw new SkillError("INVALID_OPTION", `${where} is not JSON: ${reasonOf(error)}.`, { cause: error });
  }
}

function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === "ENOENT") return "there is no such file";
  if (code === "EISDIR") return "it is a folder";
  if (code === "EACCES" || code === "EPERM") return "this user may not read it";
  return message.replace(/\.$/, "");
}

function tooLarge(what: string): SkillError {
  return new SkillError("INVALID_OPTION", `${what} is larger than ${MAX_BYTES / 1024 / 1024} MiB.`);
}
