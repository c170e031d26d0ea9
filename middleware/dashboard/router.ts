import type { IncomingMessage, ServerResponse } from "node:http";
import { SkillError } from "../../lib/index.js";
import type { SkillsApiOptions } from "../api/options.js";
import { skillsApi } from "../api/router.js";
import type { Next, SkillsHandler } from "../types.js";
import { sendAsset, sendHtml, sendRedirect } from "./answers.js";
import { type DashboardPage, htmlWithBase, readPage } from "./page.js";
import { answerSession } from "./session.js";

const API = "/api/";

/**
 * The dashboard with the page that was built into a folder.
 * @throws INVALID_OPTION
 */
export function createDashboard(options: SkillsApiOptions, folder: URL): SkillsHandler {
  if (typeof options?.authorize !== "function")
    throw new SkillError(
      "INVALID_OPTION",
      "skillsDashboard() needs the option authorize: (req) => ({ apiKeyId, role }): it says who may see and do what, and there is no default.",
    );
  const { kit, authorize } = options;
  const api = skillsApi(options);
  const page = readPage(folder);
  return function skillsDashboardRouter(request: IncomingMessage, response: ServerResponse, next: Next): void {
    const path = pathOf(request.url);
    if (path.startsWith(API)) passOn(api, request, response, next);
    else if (request.method !== "GET" && request.method !== "HEAD") next();
    else if (path === "/session") answerSession({ authorize, kit }, request, response);
    else if (!servePage(page, path, request, response)) next();
  };
}

/** Gives false when the path is none of the page's. */
function servePage(page: DashboardPage, path: string, request: IncomingMessage, response: ServerResponse): boolean {
  const asset = page.assets.get(path);
  if (asset === undefined && path !== "/") return false;
  const slashless = lastSegment(request);
  if (asset !== undefined) sendAsset(request, response, asset);
  else if (slashless !== undefined) sendRedirect(request, response, `./${slashless}/${queryOf(request.url)}`);
  else sendHtml(request, response, htmlWithBase(page.html, request));
  return true;
}

/** Gives the API its request as Express gives one to a router that is mounted. */
function passOn(api: SkillsHandler, request: IncomingMessage, response: ServerResponse, next: Next): void {
  const mounted = request as IncomingMessage & { baseUrl?: string };
  const { url = "/", baseUrl = "" } = mounted;
  mounted.url = url.slice(API.length - 1);
  mounted.baseUrl = `${baseUrl}/api`;
  api(request, response, (error) => {
    mounted.url = url;
    mounted.baseUrl = baseUrl;
    next(error);
  });
}

/**
 * The end of an address without the slash that the page's relative addresses need; `undefined` when it is there. Only the end is known for
 * sure: a proxy may have taken the beginning away.
 */
function lastSegment(request: IncomingMessage): string | undefined {
  const { originalUrl = request.url } = request as IncomingMessage & { originalUrl?: string };
  const segment = pathOf(originalUrl).split("/").at(-1);
  return segment === "" ? undefined : segment;
}

function pathOf(url: string | undefined): string {
  const [path = ""] = (url ?? "").split("?");
  return path === "" ? "/" : path;
}

function queryOf(url: string | undefined): string {
  const at = (url ?? "").indexOf("?");
  return at === -1 ? "" : (url ?? "").slice(at);
}
