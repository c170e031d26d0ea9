import type { IncomingMessage, ServerResponse } from "node:http";
import { DEFAULT_CALLER, SkillError, type SkillsKit } from "../../lib/index.js";
import { sendProblem } from "../problem-response.js";
import { attachedContext } from "../request-context.js";
import { requestIdOf } from "../request-id.js";
import { isClosed, ResponseSignal } from "../response-signal.js";
import type { Next, SkillsHandler, SkillsRequest } from "../types.js";
import { sendReply } from "./answer.js";
import { readBody } from "./body.js";
import { Streams } from "./events/streams.js";
import { createMatcher, type Match } from "./match.js";
import { parseApiOptions, type SkillsApiConfig, type SkillsApiOptions } from "./options.js";
import { checkOrigin } from "./origin.js";
import { type ApiIdentity, authorizeRequest, hasRole } from "./roles.js";
import type { AnyRoute, ApiRequest } from "./route.js";
import { createRoutes } from "./routes.js";
import { createValidator, type Validator } from "./validate.js";

/**
 * The REST API: skills, executions with their events, settings, statistics and health, as a middleware to be mounted anywhere:
 * `app.use("/api", skillsApi({ authorize }))`. Its OpenAPI 3.1 document is at `openapi.json` below the mount. It reads JSON bodies itself, unless a
 * parser did before, and answers its errors itself, as problem details (RFC 9457). Paths that it does not know go to `next`, so that other
 * routes can share the mount. Works on Express 4 and 5.
 *
 * @throws INVALID_OPTION naming the option
 * @since 0.1.0
 */
export function skillsApi(options: SkillsApiOptions): SkillsHandler {
  const config = parseApiOptions(options);
  const match = createMatcher(createRoutes());
  const tools: Tools = { config, validator: createValidator(), streams: new Streams(config.maxStreams) };
  return function skillsApiRouter(request: IncomingMessage, response: ServerResponse, next: Next): void {
    const [path = "", search = ""] = splitOnce(request.url ?? "", "?");
    const exchange: Exchange = { request: request as SkillsRequest, response, path, search };
    const requestId = attachedContext(request)?.requestId ?? requestIdOf(request);
    handle(tools, exchange, requestId, () => match(path.replace(/^\/|\/$/g, "")))
      .then((isKnown) => {
        if (!isKnown) next();
      })
      .catch((error: unknown) => {
        const logger = (config.kit ?? attachedContext(request))?.logger;
        if (!sendProblem(error, request, response, { logger, requestId })) response.destroy();
      })
      // Thrown by the application's logger: there is nobody left to tell.
      .catch(() => response.destroy());
  };
}

interface Tools {
  readonly config: SkillsApiConfig;
  readonly validator: Validator;
  readonly streams: Streams;
}

interface Exchange {
  readonly request: SkillsRequest;
  readonly response: ServerResponse;
  /** As it came, below the mount. */
  readonly path: string;
  readonly search: string;
}

const NOBODY: Required<ApiIdentity> = Object.freeze({ apiKeyId: DEFAULT_CALLER, role: "caller", sessionId: null });

/** Gives false when the path is not one of the table. */
async function handle(tools: Tools, exchange: Exchange, requestId: string, match: () => Match | undefined): Promise<boolean> {
  const { request, response } = exchange;
  const found = match();
  if (found === undefined) return false;
  const route = routeOf(found, request.method);
  if (route === undefined) {
    refuseMethod(found, request, response);
    return true;
  }
  const caller = await identify(tools.config, route, request);
  const apiRequest = await readRequest(tools, exchange, route, { caller, requestId, params: found.params });
  const reply = await route.handle(apiRequest);
  if (isClosed(response)) return true;
  if (reply.stream === undefined) sendReply(request, response, reply);
  else await tools.streams.open(request, response, reply.stream);
  return true;
}

/** @throws UNAUTHENTICATED, FORBIDDEN */
async function identify(config: SkillsApiConfig, route: AnyRoute, request: SkillsRequest): Promise<Required<ApiIdentity>> {
  if (route.role === null) return NOBODY;
  const caller = await authorizeRequest(config.authorize, request);
  if (hasRole(caller, route.role)) return caller;
  const needs = `needs the role ${route.role}; this caller has the role ${caller.role}`;
  throw new SkillError("FORBIDDEN", `${route.method} ${route.path} ${needs}.`);
}

/** @throws KIT_MISSING FORBIDDEN UNSUPPORTED_MEDIA_TYPE BODY_TOO_LARGE INVALID_REQUEST */
async function readRequest(
  { config, validator }: Tools,
  { request, response, path, search }: Exchange,
  route: AnyRoute,
  facts: Pick<ApiRequest, "caller" | "requestId" | "params">,
): Promise<ApiRequest> {
  if (route.method !== "GET") checkOrigin(request);
  const query = validator.query(route, search);
  const body = route.method === "POST" || route.method === "PATCH" ? await readBody(request, config.maxBodyBytes) : undefined;
  validator.body(route, body);
  // The slashes of the path as it came: a relative address starts at the last one.
  const up = "../".repeat(path.split("/").length - 2);
  let signal: ResponseSignal | undefined;
  return {
    ...facts,
    kit: kitOf(config, request),
    query,
    body,
    header: (name) => headerOf(request, name),
    link: (target) => `${up === "" ? "./" : up}${target}`,
    get signal() {
      signal ??= new ResponseSignal(response);
      return signal;
    },
  };
}

function routeOf({ routes: found }: Match, method: string): AnyRoute | undefined {
  return found.get(method) ?? (method === "HEAD" ? found.get("GET") : undefined);
}

function refuseMethod({ routes: found }: Match, request: IncomingMessage, response: ServerResponse): void {
  const allowed = [...found.keys(), ...(found.has("GET") ? ["HEAD"] : []), "OPTIONS"].join(", ");
  response.setHeader("Allow", allowed);
  if (request.method !== "OPTIONS") throw new SkillError("METHOD_NOT_ALLOWED", `This path has the methods ${allowed}.`);
  sendReply(request, response, { status: 204 });
}

function kitOf(config: SkillsApiConfig, request: IncomingMessage): SkillsKit {
  const kit = config.kit ?? attachedContext(request)?.kit;
  if (kit !== undefined) return kit;
  const cure = "give skillsApi() the option kit, or call app.use(skills()) before it";
  throw new SkillError("KIT_MISSING", `No kit is mounted before the REST API: ${cure}.`);
}

function headerOf({ headers }: IncomingMessage, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value.join(", ") : value;
}

function splitOnce(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at === -1 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}
