import type { IncomingMessage, ServerResponse } from "node:http";
import type { Asset } from "./page.js";

/** Only what lies beside the page, nothing inline, and in no frame of another site. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'self'",
  "form-action 'none'",
  "frame-ancestors 'self'",
].join("; ");

export function sendHtml(request: IncomingMessage, response: ServerResponse, html: string): void {
  addPolicy(response);
  response.setHeader("X-Frame-Options", "SAMEORIGIN");
  response.setHeader("Referrer-Policy", "no-referrer");
  response.setHeader("Cache-Control", "no-store");
  send(request, response, "text/html; charset=utf-8", Buffer.from(html));
}

export function sendAsset(request: IncomingMessage, response: ServerResponse, { type, body }: Asset): void {
  response.setHeader("Cache-Control", "public, max-age=31536000, immutable");
  send(request, response, type, body);
}

/** To an address relative to the one that was asked. */
export function sendRedirect(request: IncomingMessage, response: ServerResponse, location: string): void {
  response.statusCode = 302;
  response.setHeader("Location", location);
  response.setHeader("Cache-Control", "no-store");
  send(request, response, "text/plain; charset=utf-8", Buffer.from("The dashboard's address ends in a slash.\n"));
}

/** Browsers enforce each policy that they are given, so the application's own stays in force. */
function addPolicy(response: ServerResponse): void {
  const name = "Content-Security-Policy";
  const present = response.getHeader(name);
  response.setHeader(name, present === undefined ? POLICY : [present, POLICY].flat().map(String));
}

function send(request: IncomingMessage, response: ServerResponse, type: string, body: Buffer): void {
  response.setHeader("Content-Type", type);
  response.setHeader("Content-Length", body.length);
  response.setHeader("X-Content-Type-Options", "nosniff");
  response.end(request.method === "HEAD" ? undefined : body);
}
