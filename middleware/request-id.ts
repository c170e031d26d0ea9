import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";

/** Visible ASCII only: the id goes into logs and the audit, and a client may have chosen it. */
const REQUEST_ID = /^[\x21-\x7e]{1,128}$/;

/** The id that an earlier middleware or a proxy gave the request, or a new UUID. */
export function requestIdOf(request: IncomingMessage): string {
  const { id } = request as { id?: unknown };
  if (typeof id === "string" && REQUEST_ID.test(id)) return id;
  const header = request.headers["x-request-id"];
  return typeof header === "string" && REQUEST_ID.test(header) ? header : randomUUID();
}
