import type { IncomingMessage, ServerResponse } from "node:http";
import type { SkillError } from "../lib/index.js";

/** An Express request, without depending on Express's types: it carries what the application added to `Express.Request`. */
export type SkillsRequest = IncomingMessage &
  Express.Request & {
    /** What a body parser made of the body. */
    readonly body?: unknown;
    readonly query: Readonly<Record<string, unknown>>;
    /** Express 5 gives arrays for wildcards. */
    readonly params: Readonly<Record<string, string | string[]>>;
    readonly originalUrl: string;
    readonly method: string;
  };

/** Express's `next`. */
export type Next = (error?: unknown) => void;

/** A middleware for Express 4 and 5; typed with Node's own types so that a route's inferred parameters stay inferred. */
export type SkillsHandler = (request: IncomingMessage, response: ServerResponse, next: Next) => void;

/** An error handler for Express 4 and 5. */
export type SkillsErrorHandler = (error: unknown, request: IncomingMessage, response: ServerResponse, next: Next) => void;

/** A function of the request. Declared as a method, so that one whose parameter is Express's own `Request` is accepted too. */
export type RequestFunction<Result> = { of(request: SkillsRequest): Result }["of"];

/** A function of a failed step and its request. */
export type FailureFunction<Result> = { of(error: SkillError, request: SkillsRequest): Result }["of"];
