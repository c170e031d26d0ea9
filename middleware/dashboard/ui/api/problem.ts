import type { Fault } from "./types.js";

/** What the server answered instead of what was asked for: problem details (RFC 9457), or why there was no answer. */
export class Problem extends Error {
  override readonly name = "Problem";
  /** 0 when the server did not answer. */
  readonly status: number;
  readonly title: string;
  readonly code: string | undefined;
  readonly faults: readonly Fault[];
  readonly requestId: string | undefined;
  readonly executionId: string | undefined;

  constructor(status: number, body: Readonly<Record<string, unknown>>) {
    super(text(body["detail"]) ?? text(body["title"]) ?? "The server gave no reason.");
    this.status = status;
    this.title = text(body["title"]) ?? `Status ${status}`;
    this.code = text(body["code"]);
    this.requestId = text(body["requestId"]);
    this.executionId = text(body["executionId"]);
    this.faults = Array.isArray(body["faults"]) ? body["faults"].filter(isFault) : [];
  }
}

export async function readProblem(response: Response): Promise<Problem> {
  const body: unknown = await response.json().catch(() => null);
  const fallback = { title: response.statusText || `Status ${response.status}`, detail: hintFor(response.status) };
  return new Problem(response.status, typeof body === "object" && body !== null ? { ...fallback, ...body } : fallback);
}

export function unreachable(): Problem {
  return new Problem(0, {
    title: "The server does not answer",
    detail: "It may be stopped, or the network is down. The page tries again by itself.",
  });
}

export function toProblem(error: unknown): Problem {
  return error instanceof Problem ? error : new Problem(0, { title: "The page failed", detail: String(error) });
}

function hintFor(status: number): string {
  if (status === 404) return "Nothing is there, or the proxy in front of the server does not pass the address on.";
  return `The server, or a proxy in front of it, answered ${status} without a reason.`;
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function isFault(value: unknown): value is Fault {
  const fault = value as Partial<Fault> | null;
  return typeof fault?.pointer === "string" && typeof fault.message === "string";
}
