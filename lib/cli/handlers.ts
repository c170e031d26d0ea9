import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { SkillError } from "../errors.js";
import type { SkillsKit } from "../skills.js";
import { oneLine } from "./visible-text.js";

type AddHandlers = (kit: SkillsKit) => unknown;

/**
 * Loads modules that add handlers to a kit: the default export of each, or the only function that it exports, is called with it.
 * @throws INVALID_OPTION a module cannot be loaded, exports no such function, or that throws
 */
export async function loadHandlers(kit: SkillsKit, modules: readonly string[]): Promise<void> {
  for (const path of modules) {
    const add = await loadModule(path);
    try {
      await add(kit);
    } catch (error) {
      throw fault(path, "throws", error);
    }
  }
}

async function loadModule(path: string): Promise<AddHandlers> {
  let exported: Record<string, unknown>;
  try {
    exported = await import(pathToFileURL(resolve(path)).href);
  } catch (error) {
    throw fault(path, "cannot be loaded", error);
  }
  const functions = Object.values(exported).filter((value) => typeof value === "function");
  const found = typeof exported["default"] === "function" ? exported["default"] : functions[0];
  if (found === undefined || (found !== exported["default"] && functions.length > 1))
    throw new SkillError("INVALID_OPTION", `--require ${path}: export one function of the kit: export default (kit) => { ... }.`);
  return found as AddHandlers;
}

function fault(path: string, what: string, error: unknown): SkillError {
  const reason = oneLine(error instanceof Error ? error.message : String(error)).slice(0, 500);
  return new SkillError("INVALID_OPTION", `--require ${path} ${what}: ${reason}`, { cause: error });
}
