import { isExactVersion, type SkillHead, type SkillPosition } from "../../lib/index.js";
import { invalidParameter } from "./problems.js";

/** A place in the list of skills, as text that clients hand back as it is. */
export function renderSkillCursor({ name, apiKeyId, version }: SkillHead): string {
  return Buffer.from(JSON.stringify([name, apiKeyId, version])).toString("base64url");
}

/** @throws INVALID_REQUEST */
export function parseSkillCursor(cursor: string): SkillPosition {
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, "base64url").toString("utf8"));
    if (Array.isArray(parts) && parts.length === 3 && parts.every((part) => typeof part === "string")) {
      const [name, apiKeyId, version] = parts as [string, string, string];
      if (isExactVersion(version)) return { name, apiKeyId, version };
    }
  } catch {}
  throw invalidParameter("cursor", "is none that this API gave");
}
