import { type Problem, readProblem, unreachable } from "./problem.js";
import { currentToken } from "./token.js";

/** Of a list, each value is sent; what is empty is not. */
export type Query = Readonly<Record<string, string | number | boolean | readonly string[] | undefined | null>>;

export interface CallOptions {
  readonly method?: "GET" | "POST" | "PATCH" | "DELETE";
  readonly query?: Query;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

export interface Answer<Body> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Body;
}

const unauthorizedListeners = new Set<() => void>();

/** Told whenever the server says that it does not know who asks. Returns what ends that. */
export function onUnauthorized(listener: () => void): () => void {
  unauthorizedListeners.add(listener);
  return () => unauthorizedListeners.delete(listener);
}

/** @throws Problem; the signal's reason when it was aborted */
export async function call<Body>(path: string, options: CallOptions = {}): Promise<Answer<Body>> {
  const response = await open(`api/${path}`, options);
  const text = response.status === 204 ? "" : await response.text();
  return { status: response.status, headers: response.headers, body: (text === "" ? null : JSON.parse(text)) as Body };
}

export async function get<Body>(path: string, query: Query = {}, signal?: AbortSignal): Promise<Body> {
  return (await call<Body>(path, { query, ...(signal === undefined ? {} : { signal }) })).body;
}

/** An answer that is not read yet, from an address below the page's own. @throws as `call` does */
export async function open(address: string, options: CallOptions = {}): Promise<Response> {
  const { method = "GET", query = {}, body, headers = {}, signal } = options;
  const response = await fetch(`./${address}${queryText(query)}`, {
    method,
    credentials: "same-origin",
    cache: "no-store",
    headers: {
      Accept: "application/json",
      ...(body === undefined ? {} : { "Content-Type": "application/json" }),
      ...authorization(),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  }).catch((error: unknown): Problem => {
    if (signal?.aborted === true) throw error;
    return unreachable();
  });
  if (!(response instanceof Response)) throw response;
  if (response.ok) return response;
  if (response.status === 401) for (const listener of unauthorizedListeners) listener();
  throw await readProblem(response);
}

function authorization(): Record<string, string> {
  const token = currentToken();
  return token === undefined ? {} : { Authorization: `Bearer ${token}` };
}

function queryText(query: Query): string {
  const given = Object.entries(query)
    .flatMap(([key, value]) => [value].flat().map((one) => [key, one] as const))
    .filter(([, value]) => value !== undefined && value !== null && value !== "");
  if (given.length === 0) return "";
  return `?${new URLSearchParams(given.map(([key, value]) => [key, String(value)]))}`;
}
