import type { Request } from "express";
import type { Request as Request4 } from "express4";
import { type Authorize, skillsApi } from "../../middleware/index.js";

const admin = { apiKeyId: "key", role: "admin" } as const;

skillsApi({ authorize: (request) => (request.headers["x-key"] === "a" ? { apiKeyId: "key", role: "admin" } : null) });
skillsApi({ authorize: async (request) => (request.query["key"] === "a" ? admin : undefined) });
skillsApi({ authorize: (request: Request) => ({ apiKeyId: request.get("x-key") ?? "nobody", role: "caller", sessionId: null }) });
skillsApi({ authorize: (request: Request4) => (request.get("x-key") === undefined ? null : admin) });

// @ts-expect-error it is required
skillsApi({});
// @ts-expect-error a role that there is not
export const unknownRole: Authorize = () => ({ apiKeyId: "key", role: "root" });
