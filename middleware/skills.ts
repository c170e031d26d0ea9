import type { IncomingMessage, ServerResponse } from "node:http";
import { checkKeys, createSkills, defaultSkills, SkillError, type SkillsKit, type SkillsOptions } from "../lib/index.js";
import type { Identify } from "./identity.js";
import { attachedContext, RequestContext } from "./request-context.js";
import type { Next } from "./types.js";

export interface SkillsMiddlewareOptions extends SkillsOptions {
  /**
   * Says who sent a request: `{ apiKeyId, sessionId? }`, or `null` for nobody (401 UNAUTHENTICATED). May be async; runs once per request,
   * when a skill is first called. What it throws goes to `next`. Default: every caller is `default`. Never take the caller from the body.
   */
  readonly identify?: Identify | undefined;
}

const OPTIONS = Object.keys({
  database: true,
  logger: true,
  timeoutMs: true,
  maxTimeoutMs: true,
  audit: true,
  sandbox: true,
  metrics: true,
  worker: true,
  identify: true,
} satisfies Record<keyof SkillsMiddlewareOptions, true>);

/** An Express middleware that is also the kit. */
export interface SkillsMiddleware extends SkillsKit {
  (request: IncomingMessage, response: ServerResponse, next: Next): void;
}

/**
 * Makes a kit and the middleware that attaches it as `req.skills`. The middleware does nothing else: a step or a call opens the database,
 * so routes without skills work whatever its state. Routers and sub-applications inherit `req.skills`. Where two are mounted, the
 * innermost one wins from there on; the same kit mounted again keeps the results so far.
 *
 * Without options it is the process-wide default kit, made from environment variables; any object makes a new one.
 *
 * @throws INVALID_OPTION naming the nearest valid option
 * @since 0.1.0
 */
export function skills(options?: SkillsMiddlewareOptions): SkillsMiddleware {
  if (options === undefined) return createMiddleware(defaultSkills(), undefined);
  checkKeys("options of skills()", options, OPTIONS);
  const { identify, ...kitOptions } = options;
  if (identify !== undefined && typeof identify !== "function") {
    throw new SkillError("INVALID_OPTION", "The option identify of skills() must be a function of the request.");
  }
  return createMiddleware(createSkills(kitOptions), identify);
}

function createMiddleware(kit: SkillsKit, identify: Identify | undefined): SkillsMiddleware {
  function skillsMiddleware(request: IncomingMessage, response: ServerResponse, next: Next): void {
    if (attachedContext(request)?.belongsTo(kit, identify) !== true) {
      (request as IncomingMessage & { skills?: RequestContext }).skills = new RequestContext(kit, identify, request, response);
    }
    next();
  }
  return Object.assign(skillsMiddleware, kit);
}
