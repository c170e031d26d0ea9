import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { SkillError } from "../errors.js";
import type { SkillsKit } from "../skills.js";

/** The page lives with the middleware, which lib does not know: only this command loads it, when it is run. */
const MIDDLEWARE: string = "express-skills";
const HOST = "127.0.0.1";

interface Middleware {
  skillsDashboard(options: {
    readonly kit: SkillsKit;
    authorize(request: IncomingMessage): { readonly apiKeyId: string; readonly role: "admin" } | null;
  }): (request: IncomingMessage, response: ServerResponse, next: (error?: unknown) => void) => void;
}

export interface DashboardServer {
  /** With the token in its fragment, which browsers send to nobody. */
  readonly address: string;
  close(): Promise<void>;
}

/**
 * Serves the dashboard on the loopback address, with every right for who has the token.
 * @throws INVALID_OPTION the port is taken, or the page is not installed
 */
export async function serveDashboard(
  kit: SkillsKit,
  { port, apiKeyId }: { readonly port: number; readonly apiKeyId: string },
): Promise<DashboardServer> {
  const { skillsDashboard } = await loadMiddleware();
  const token = randomBytes(32).toString("base64url");
  const isToken = tokenCheck(token);
  const dashboard = skillsDashboard({
    kit,
    authorize: ({ headers }) => (isToken(headers.authorization) ? { apiKeyId, role: "admin" } : null),
  });
  const server = createServer(
    onlyThisHost((request, response) => dashboard(request, response, () => answer(response, 404, "Not found"))),
  );
  server.listen(port, HOST);
  try {
    await once(server, "listening");
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const reason = code === "EADDRINUSE" ? "another program has it: name another one, or 0 for a free one" : message;
    throw new SkillError("INVALID_OPTION", `The port ${port} cannot be used: ${reason}.`, { cause });
  }
  return {
    address: `http://${HOST}:${(server.address() as AddressInfo).port}/#token=${token}`,
    async close() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function loadMiddleware(): Promise<Middleware> {
  try {
    return (await import(MIDDLEWARE)) as Middleware;
  } catch (cause) {
    const reason = cause instanceof Error ? (cause.message.split("\n")[0] ?? "") : String(cause);
    throw new SkillError(
      "INVALID_OPTION",
      `The dashboard cannot be loaded: ${reason}. Run \`npm install express-skills express\`.`,
      {
        cause,
      },
    );
  }
}

/** Compares hashes, which are equally long, in a time that says nothing about how much is right. */
function tokenCheck(token: string): (header: string | undefined) => boolean {
  const hash = (text: string) => createHash("sha256").update(text).digest();
  const expected = hash(`Bearer ${token}`);
  return (header) => header !== undefined && timingSafeEqual(hash(header), expected);
}

/** A page of another site can make a browser ask here under a name of its own; it gets nothing. */
function onlyThisHost(listener: RequestListener): RequestListener {
  return (request, response) => {
    const [host] = (request.headers.host ?? "").split(":");
    if (host === HOST || host === "localhost") return listener(request, response);
    answer(response, 421, "This server answers as 127.0.0.1 only");
  };
}

function answer(response: ServerResponse, status: number, text: string): void {
  response.statusCode = status;
  response.setHeader("Content-Type", "text/plain; charset=utf-8");
  response.setHeader("X-Content-Type-Options", "nosniff");
  response.end(`${text}\n`);
}
