import type { IncomingMessage, ServerResponse } from "node:http";
import type { ApiReply } from "./route.js";

/** Sends a reply that is no stream. */
export function sendReply(request: IncomingMessage, response: ServerResponse, reply: ApiReply): void {
  response.statusCode = reply.status;
  response.setHeader("Cache-Control", "no-store");
  response.setHeader("X-Content-Type-Options", "nosniff");
  for (const [name, value] of Object.entries(reply.headers ?? {})) response.setHeader(name, value);
  if (reply.body === undefined) {
    response.end();
    return;
  }
  const body = Buffer.from(JSON.stringify(reply.body));
  response.setHeader("Content-Type", "application/json; charset=utf-8");
  response.setHeader("Content-Length", body.length);
  response.end(request.method === "HEAD" ? undefined : body);
}
