import { readdirSync, readFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { SkillError } from "../../lib/index.js";

/** A file whose name changes with its content. */
export interface Asset {
  readonly type: string;
  readonly body: Buffer;
}

export interface DashboardPage {
  readonly html: string;
  /** By path below the mount. */
  readonly assets: ReadonlyMap<string, Asset>;
}

const TYPES: Readonly<Record<string, string>> = {
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/**
 * Reads the page as it was built: a few files, kept in memory, so that no address can lead out of the folder.
 * @throws INVALID_OPTION when it was not built
 */
export function readPage(folder: URL): DashboardPage {
  try {
    const names = readdirSync(new URL("assets/", folder));
    const assets = names.map((name) => [`/assets/${name}`, readAsset(new URL(`assets/${name}`, folder))] as const);
    return { html: readFileSync(new URL("index.html", folder), "utf8"), assets: new Map(assets) };
  } catch (error) {
    throw new SkillError(
      "INVALID_OPTION",
      `skillsDashboard() finds no page in ${fileURLToPath(folder)}: install the package again, or in its repository run \`npm run build\`.`,
      { cause: error },
    );
  }
}

/** Visible in addresses without encoding, and never two slashes in a row, which would begin the name of another host. */
const PREFIX = /^(?:\/[\w.~-]+){1,32}\/?$/;

/**
 * A proxy that takes a prefix away may serve this page at `/prefix`, to which `assets/` is not below. Where it says what it took, the
 * page's relative addresses start from there.
 */
export function htmlWithBase(html: string, request: IncomingMessage): string {
  const prefix = request.headers["x-forwarded-prefix"];
  if (typeof prefix !== "string" || prefix.length > 500 || !PREFIX.test(prefix)) return html;
  const { originalUrl = "/" } = request as IncomingMessage & { originalUrl?: string };
  const [path = "/"] = originalUrl.split("?");
  const base = `${prefix.replace(/\/$/, "")}${path}`;
  return PREFIX.test(base) ? html.replace("<head>", `<head>\n    <base href="${base}">`) : html;
}

function readAsset(file: URL): Asset {
  return { type: TYPES[extname(file.pathname)] ?? "application/octet-stream", body: readFileSync(file) };
}
