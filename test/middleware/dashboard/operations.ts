import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import compression from "compression";
import express from "express";
import helmet from "helmet";
import { afterAll, beforeAll } from "vitest";
import type { ApiIdentity } from "../../../middleware/api/roles.js";
import { createDashboard } from "../../../middleware/dashboard/router.js";
import { type SkillsMiddleware, skills } from "../../../middleware/index.js";
import { environmentOf, missingReason, shellImage, type TestEngineName } from "../../engines/engines.js";
import { buildPage } from "./page-folder.js";
import { defineContainer, defineWorkload, type Workload } from "./workload.js";

export interface Operations {
  readonly kit: SkillsMiddleware;
  /** The kit's, a file. */
  readonly database: string;
  readonly workload: Workload;
  /** The container engine, with which there is a skill `wordCount`; `undefined` where none is ready. */
  readonly engine: TestEngineName | undefined;
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
    const engine = useAnyEngine((restore) => endings.push(restore));
    const sandbox = { owner: `dashboard ${process.pid}`, images: [shellImage], ...(engine && { runtime: engine }) };
    const folder = await mkdtemp(join(tmpdir(), "express-skills-test-"));
    endings.push(() => rm(folder, { recursive: true, force: true }));
    const database = join(folder, "skills.db");
    const kit = skills({ database, logger: quiet, sandbox });
    endings.push(() => kit.close({ graceMs: 0 }));
    const workload = defineWorkload(kit);
    if (engine !== undefined) defineContainer(kit);
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
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/ops/skills/`;
    operations = { kit, database, workload, engine, url };
  });
  afterAll(async () => {
    for (const end of endings.reverse()) await end();
  });
  return () => {
    if (operations === undefined) throw new Error("The application has not been started.");
    return operations;
  };
}

/** Leads this process to an engine that is ready, until `restore` is called. */
function useAnyEngine(atEnd: (restore: () => Promise<void>) => unknown): TestEngineName | undefined {
  const engine = (["docker", "podman"] as const).find((name) => missingReason(name) === null);
  if (engine === undefined) return undefined;
  const environment = environmentOf(engine);
  for (const name of ["DOCKER_HOST", "CONTAINERS_CONF"]) {
    const before = process.env[name];
    if (environment[name] !== undefined) process.env[name] = environment[name];
    atEnd(async () => {
      if (before === undefined) delete process.env[name];
      else process.env[name] = before;
    });
  }
  return engine;
}
