import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import compression from "compression";
import express from "express";
import helmet from "helmet";
import { afterAll, beforeAll } from "vitest";
import type { ApiIdentity } from "../../../middleware/api/roles.js";
import { createDashboard } from "../../../middleware/dashboard/router.js";
import { type SkillsMiddleware, skills } from "../../../middleware/index.js";
import { buildPage } from "./page-folder.js";
import { defineWorkload, type Workload } from "./workload.js";

export interface Operations {
  readonly kit: SkillsMiddleware;
  readonly workload: Workload;
  /** With a slash at its end. */
  readonly url: string;
}

/** Who a token belongs to. */
const PEOPLE: ReadonlyMap<string, ApiIdentity> = new Map([
  ["admin-token", { apiKeyId: "ada", role: "admin" }],
  ["operator-token", { apiKeyId: "oscar", role: "operator" }],
  ["caller-token", { apiKeyId: "storefront", role: "caller" }],
]);

/** Says who sends a request by its bearer token, or by a cookie that a sign-in page of the application might have set. */
export function authorize({ headers }: { readonly headers: IncomingHttpHeaders }): ApiIdentity | null {
  const token =
    /^Bearer (.+)$/.exec(headers.authorization ?? "")?.[1] ?? /(?:^|; )session=([^;]+)/.exec(headers.cookie ?? "")?.[1];
  return PEOPLE.get(token ?? "") ?? null;
}

/** An application behind helmet and compression, with the dashboard at `/ops/skills`; the same for all tests of a file. */
export function startOperations(prepare?: (kit: SkillsMiddleware) => Promise<void>): () => Operations {
  const page = buildPage();
  let operations: Operations | undefined;
  const endings: (() => Promise<unknown>)[] = [];

  beforeAll(async () => {
    const quiet = { debug() {}, info() {}, warn() {}, error() {} };
    const kit = skills({ database: ":memory:", logger: quiet });
    endings.push(() => kit.close({ graceMs: 0 }));
    const workload = defineWorkload(kit);
    await kit.ready();
    await prepare?.(kit);
    const app = express().use(helmet()).use(compression()).use(kit);
    app.use("/ops/skills", createDashboard({ authorize }, page()));
    const server = createServer(app);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    endings.push(async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    });
    operations = { kit, workload, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/ops/skills/` };
  });
  afterAll(async () => {
    for (const end of endings.reverse()) await end();
  });
  return () => {
    if (operations === undefined) throw new Error("The application has not been started.");
    return operations;
  };
}
