import type { IncomingMessage } from "node:http";
import { skill, skills } from "../../middleware/index.js";

/** A project's own request type, unrelated to Express's: nothing forces `skills` upon it. */
export interface Request extends IncomingMessage {
  readonly tenant: string;
}

export const tenantOf = (request: Request): string => request.tenant;

skill("a", { when: (request) => request.userOfTheTypeTests.name !== "" });
skills({ identify: (request) => ({ apiKeyId: request.userOfTheTypeTests.name }) });
