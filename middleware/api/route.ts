import type { AbortSignalLike, SkillsKit } from "../../lib/index.js";
import type { StreamSource } from "./events/stream.js";
import type { ApiIdentity, ApiRole } from "./roles.js";
import type { ComponentName } from "./schemas/components.js";

/** What a handler gets: already authorised, with a query and a body that match the route's schemas. */
export interface ApiRequest<Query = unknown, Body = unknown> {
  readonly kit: SkillsKit;
  readonly caller: Required<ApiIdentity>;
  /** Decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly body: Body;
  readonly requestId: string;
  /** Aborts when the client closes the connection before the answer is finished. */
  readonly signal: AbortSignalLike;
  /** One header, by its name in lower case; `undefined` when it was not sent. */
  header(name: string): string | undefined;
  /** An address of this API relative to the one that was asked, so that it holds behind proxies that strip a prefix. */
  link(path: string): string;
}

export interface ApiReply {
  readonly status: number;
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as Server-Sent Events instead of a body: opens what is sent, which calls `wake` whenever there is more. */
  readonly stream?: (wake: () => void) => Promise<StreamSource>;
}

/** A JSON Schema without references. */
export type PlainSchema = { readonly [keyword: string]: unknown };

export interface ApiResponse {
  readonly description: string;
  /** Absent: no body. */
  readonly body?: ComponentName;
  readonly type?: "text/event-stream";
  readonly headers?: readonly ("Location" | "Preference-Applied" | "Retry-After")[];
}

/** One row of the table. */
export interface ApiRoute<Query = never, Body = never> {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** Below the mount, without a slash at its ends; `{name}` is one segment. */
  readonly path: string;
  /** The role that is needed; `null` for anybody, known or not. */
  readonly role: ApiRole | null;
  readonly id: string;
  readonly summary: string;
  readonly description?: string;
  /** The parameters of the query, none of which is required. */
  readonly query?: Readonly<Record<string, PlainSchema>>;
  /** The headers that it reads. */
  readonly headers?: Readonly<Record<string, PlainSchema>>;
  readonly body?: {
    readonly component: ComponentName;
    /** Refuses bodies that do not match with INVALID_REQUEST; else the handler checks them. */
    readonly isChecked: boolean;
  };
  readonly responses: Readonly<Record<number, ApiResponse>>;
  handle(request: ApiRequest<Query, Body>): ApiReply | Promise<ApiReply>;
}

/** Any row, as the router calls it: it has checked query and body. */
export type AnyRoute = Omit<ApiRoute, "handle"> & { handle(request: ApiRequest): ApiReply | Promise<ApiReply> };

/** Makes a row: `Query` and `Body` are what its schemas let through. */
export function defineRoute<Query = Record<never, never>, Body = undefined>(route: ApiRoute<Query, Body>): AnyRoute {
  return Object.freeze(route) as unknown as AnyRoute;
}
