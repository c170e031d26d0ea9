import type { IncomingMessage } from "node:http";
import { SkillError } from "../../lib/index.js";

/**
 * Refuses a write that a page of another site makes a browser send. Browsers say where a page comes from; other programs say nothing.
 * @throws FORBIDDEN
 */
export function checkOrigin(request: IncomingMessage): void {
  const { origin } = request.headers;
  if (origin === undefined || isOwn(origin, request)) return;
  throw new SkillError(
    "FORBIDDEN",
    "The request comes from a page of another origin. Behind a proxy that changes Host, set Express's trust proxy and send X-Forwarded-Host.",
  );
}

function isOwn(origin: string, request: IncomingMessage): boolean {
  // No page can set this header, and it holds behind proxies that change Host.
  if (request.headers["sec-fetch-site"] === "same-origin") return true;
  try {
    return new URL(origin).host === new URL(`${new URL(origin).protocol}//${hostOf(request)}`).host;
  } catch {
    return false;
  }
}

function hostOf(request: IncomingMessage): string {
  const forwarded = request.headers["x-forwarded-host"];
  const [first = ""] = typeof forwarded === "string" ? forwarded.split(",") : [];
  return (first !== "" && trustsProxy(request) ? first.trim() : request.headers.host) ?? "";
}

/** As Express decides it, by the application's setting `trust proxy`. */
function trustsProxy(request: IncomingMessage): boolean {
  const { app } = request as { app?: { get?(name: string): unknown } };
  const trusts = app?.get?.("trust proxy fn");
  return typeof trusts === "function" && trusts(request.socket.remoteAddress, 0) === true;
}
