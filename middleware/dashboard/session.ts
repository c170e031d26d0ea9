import type { IncomingMessage, ServerResponse } from "node:http";
import type { SkillsKit } from "../../lib/index.js";
import { sendReply } from "../api/answer.js";
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
    .then(({ apiKeyId, role }) => {
      if (!isClosed(response)) sendReply(request, response, { status: 200, body: { apiKeyId, role } });
    })
    .catch((error: unknown) => {
      const { logger } = kit ?? context ?? {};
      if (!sendProblem(error, request, response, { logger, requestId })) response.destroy();
    })
    // Thrown by the application's logger: there is nobody left to tell.
    .catch(() => response.destroy());
}
