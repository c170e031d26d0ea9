import { Ajv2020 } from "ajv/dist/2020.js";
import ajvFormats from "ajv-formats";
import express5 from "express";
import { expect, onTestFinished } from "vitest";
import { type ApiRole, type SkillsApiOptions, type SkillsMiddleware, skillErrors, skillsApi } from "../../../middleware/index.js";
import { type Answer, type Express, newKit, send, serve } from "../servers.js";

export interface Api {
  readonly url: string;
  readonly kit: SkillsMiddleware;
  /** Sends a request as an API key with a role; JSON bodies are rendered. */
  as(role: ApiRole | null, apiKeyId?: string): Client;
}

export type Client = (method: string, path: string, options?: ClientOptions) => Promise<Answer>;

export interface ClientOptions {
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

/** Says who sends a request as `authorize()` below reads it. */
export function identityHeaders(role: ApiRole | null, apiKeyId: string): Record<string, string> {
  return role === null ? {} : { "x-role": role, "x-api-key": apiKeyId };
}

export function authorize(request: { headers: Record<string, unknown> }): { apiKeyId: string; role: ApiRole } | null {
  const { "x-role": role, "x-api-key": apiKeyId } = request.headers as Record<string, string | undefined>;
  return role === undefined || apiKeyId === undefined ? null : { apiKeyId, role: role as ApiRole };
}

/** The API under `/api`, on a kit with a few skills. */
export async function openApi({
  express = express5,
  kit = newKit(),
  ...options
}: Partial<SkillsApiOptions> & { readonly express?: Express; readonly kit?: SkillsMiddleware } = {}): Promise<Api> {
  defineSkills(kit);
  const app = express();
  app.use("/api", skillsApi({ authorize, kit, ...options }));
  app.use(skillErrors());
  const url = `${await serve(app)}/api`;
  return { url, kit, as: (role, apiKeyId = role ?? "") => clientOf(url, identityHeaders(role, apiKeyId)) };
}

function clientOf(url: string, identity: Record<string, string>): Client {
  return (method, path, { body, headers = {} } = {}) => {
    const isWrite = method === "POST" || method === "PATCH";
    const text = body === undefined || typeof body === "string" ? (body as string | undefined) : JSON.stringify(body);
    return send(`${url}/${path}`, {
      method,
      redirect: "manual",
      headers: { ...identity, ...(isWrite ? { "content-type": "application/json" } : {}), ...headers },
      ...(text === undefined ? {} : { body: text }),
    });
  };
}

const text = { type: "object", properties: { text: { type: "string" } }, required: ["text"] } as const;

function defineSkills(kit: SkillsMiddleware): void {
  kit.executor.registerHandler("plain", (input) => input);
  kit.define({ name: "echo", version: "1.0.0", schema: text, tags: ["text"], handler: ({ text }) => ({ text }) });
  kit.define({ name: "@scope/echo", version: "1.2.0", schema: text, handler: ({ text }) => ({ scoped: text }) });
  kit.define({
    name: "fails",
    schema: { type: "object" },
    handler: () => {
      throw new Error("postgres://user:hunter2@db");
    },
  });
  kit.define({
    name: "waits",
    schema: { type: "object" },
    handler: (_input, { signal, progress, log }) => {
      progress(0.25, "begun");
      log("waiting", { password: "hunter2", table: "rows" });
      return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));
    },
  });
  kit.define({
    name: "nests",
    schema: { type: "object" },
    handler: async (_input, { run }) => ({ first: await run("echo", { text: "a" }), second: await run("echo", { text: "b" }) }),
  });
}

/** A connection that reads Server-Sent Events until the test ends. */
export interface EventReader {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into events of any shape
  readonly events: { readonly type: string; readonly id: string | undefined; readonly data: any }[];
  /** Resolves when the server has ended the stream. */
  readonly ended: Promise<void>;
  close(): void;
}

export async function readEvents(url: string, headers: Record<string, string> = {}): Promise<EventReader> {
  const aborter = new AbortController();
  onTestFinished(() => aborter.abort());
  const response = await fetch(url, { headers, signal: aborter.signal });
  const events: EventReader["events"][number][] = [];
  const ended = (async () => {
    let waiting = "";
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) {
      waiting += decoder.decode(chunk as Uint8Array, { stream: true });
      for (let end = waiting.indexOf("\n\n"); end !== -1; end = waiting.indexOf("\n\n")) {
        const fields = new Map(
          waiting
            .slice(0, end)
            .split("\n")
            .map((line) => line.split(/: ?(.*)/s, 2) as [string, string]),
        );
        waiting = waiting.slice(end + 2);
        const data = fields.get("data");
        if (data !== undefined)
          events.push({ type: fields.get("event") ?? "message", id: fields.get("id"), data: JSON.parse(data) });
      }
    }
  })();
  ended.catch(() => {});
  return { status: response.status, headers: response.headers, events, ended, close: () => aborter.abort() };
}

interface Operation {
  readonly responses: Record<string, { readonly content?: Record<string, unknown>; readonly headers?: Record<string, unknown> }>;
}

interface Document {
  readonly paths: Record<string, Record<string, Operation>>;
}

/** Checks real answers against the document that the API serves. */
export async function openDocument(
  api: Api,
): Promise<{ document: Document; check(method: string, path: string, answer: Answer): void }> {
  const { body: document } = await api.as("admin")("GET", "openapi.json");
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  ajvFormats.default(ajv);
  ajv.addSchema(document, "openapi");
  const pointer = (parts: readonly string[]) =>
    parts.map((part) => encodeURIComponent(part.replaceAll("~", "~0").replaceAll("/", "~1"))).join("/");
  return {
    document,
    check(method, path, answer) {
      const { responses = {} } = (document as Document).paths[`/${path}`]?.[method.toLowerCase()] ?? {};
      const status = String(answer.status);
      const key = responses[status] === undefined ? `${status[0]}XX` : status;
      expect(Object.keys(responses), `${method} ${path} answers ${status}`).toContain(key);
      const [type] = (answer.headers.get("content-type") ?? "").split(";");
      const { content = {}, headers = {} } = responses[key] ?? {};
      expect(answer.text === "" ? [] : [type]).toEqual(Object.keys(content));
      if (headers["Location"] !== undefined) expect(answer.headers.get("location")).not.toBeNull();
      if (type === "text/event-stream" || answer.text === "") return;
      const validate = ajv.getSchema(
        `openapi#/${pointer(["paths", `/${path}`, method.toLowerCase(), "responses", key, "content", type ?? "", "schema"])}`,
      );
      validate?.(answer.body);
      expect(validate?.errors ?? null, JSON.stringify(answer.body)).toBeNull();
      expect(validate).toBeDefined();
    },
  };
}
