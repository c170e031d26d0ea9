import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import express5 from "express";
import express4 from "express4";
import { onTestFinished } from "vitest";
import { type Logger, type SkillsMiddleware, type SkillsMiddlewareOptions, skills } from "../../middleware/index.js";
import { databaseKind, newDatabase } from "../fixtures/database.js";
import { presetWorker } from "../fixtures/kit.js";

const bothVersions = [
  { version: 4, express: express4 as unknown as typeof express5 },
  { version: 5, express: express5 },
] as const;

/**
 * Both majors that the package supports; the tests use what they have in common. What differs between them, no database can change, so
 * the tests on PostgreSQL use the newer one.
 */
export const versions = bothVersions.filter(({ version }) => version === 5 || databaseKind === "sqlite");

export type Express = typeof express5;

/** A kit on a database of its own, closed when the test ends. */
export function newKit(options: SkillsMiddlewareOptions = {}): SkillsMiddleware {
  const kit = skills({ database: options.database ?? newDatabase(":memory:"), logger: quiet, ...presetWorker, ...options });
  onTestFinished(() => kit.close({ graceMs: 0 }));
  return kit;
}

/** Serves an application on a free port of the loopback interface until the test ends; gives its URL. */
export async function serve(app: RequestListener): Promise<string> {
  const server = createServer(app);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  );
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** The parsed JSON, or the text of another type. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of any shape
  readonly body: any;
  readonly text: string;
}

export async function send(url: string, init: RequestInit = {}): Promise<Answer> {
  const response = await fetch(url, { signal: AbortSignal.timeout(45_000), ...init });
  const text = await response.text();
  const isJson = /[/+]json/.test(response.headers.get("content-type") ?? "") && text !== "";
  return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : text };
}

export function post(url: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
  return send(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}

/** A logger that keeps what it is given. */
export function memoryLogger(): Logger & {
  readonly lines: { level: string; fields: Record<string, unknown>; message: string }[];
} {
  const lines: { level: string; fields: Record<string, unknown>; message: string }[] = [];
  const at = (level: string) => (fields: object, message: string) => {
    lines.push({ level, fields: { ...fields }, message });
  };
  return { lines, debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

const quiet: Logger = { debug() {}, info() {}, warn() {}, error() {} };

/** Waits until `isTrue` answers yes, at most ten seconds. */
export async function until(isTrue: () => boolean | Promise<boolean>, limitMs = 30_000): Promise<void> {
  const end = Date.now() + limitMs;
  while (!(await isTrue())) {
    if (Date.now() > end) throw new Error(`What the test waits for did not happen within ${limitMs} ms.`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
