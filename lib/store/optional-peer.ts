import { SkillError } from "../errors.js";

/**
 * Loads a package that only some applications need, and so install themselves.
 * @param load imports it; a parameter so that nothing is loaded before it is needed
 * @throws STORE_DRIVER_UNAVAILABLE with the command that cures it
 */
export async function loadOptionalPeer<Module>(
  { name, range, use }: { readonly name: string; readonly range: string; readonly use: string },
  load: () => Promise<Module>,
): Promise<Module> {
  try {
    return await load();
  } catch (error) {
    const text = (error instanceof Error ? error.message : String(error)).replaceAll(/\s+/g, " ").slice(0, 200).trim();
    throw new SkillError(
      "STORE_DRIVER_UNAVAILABLE",
      `${use} needs the package ${name}, which cannot be loaded (${text}). Run \`npm install ${name}@${range}\`.`,
      { cause: error },
    );
  }
}
