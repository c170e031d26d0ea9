import type { IncomingMessage, ServerResponse } from "node:http";
import type { SkillsKit } from "../../lib/index.js";
import { type Authorize, authorizeRequest } from "../api/roles.js";
import { sendProblem } from "../problem-response.js";
import { attachedContext } from "../request-context.js";
import { requestIdOf } from "../request-id.js";
import { isClosed } from "../response-signal.js";
import type { SkillsRequest } from "../types.js";

export interface SessionOptions {
  readonly authorize: Authorize;
  readonly kit: SkillsKit | undefined;
}

/** Tells the page who it is taken for, so that it offers only what that role may do: `{ apiKeyId, role }`, or 401. */
export function answerSession({ authorize, kit }: SessionOptions, request: IncomingMessage, response: ServerResponse): void {
  const context = attachedContext(request);
  const requestId = context?.requestId ?? requestIdOf(request);
  authorizeRequest(authorize, request as SkillsRequest)
    .then(({ apiKeyId, role }) => sendJson(request, response, { apiKeyId, role }))
    .catch((error: unknown) => {
      const { logger } = kit ?? context ?? {};
      if (!sendProblem(error, request, response, { logger, requestId })) response.destroy();
    })
    // Thrown by the application's logger: there is nobody left to tell.
    .catch(() => response.destroy());
}

function sendJson(request: IncomingMessage, response: ServerResponse, body: object): void {
  if (isClosed(response)) return;
  const bytes = Buffer.from(JSON.stringify(body));
  response.setHeader("Content-Type", "application/json; charset=utf-8");
  response.setHeader("Content-Length", bytes.length);
  response.setHeader("Cache-Control", "no-store");
  response.setHeader("X-Content-Type-Options", "nosniff");
  response.end(request.method === "HEAD" ? undefined : bytes);
}
