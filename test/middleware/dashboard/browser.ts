import { existsSync } from "node:fs";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, vi } from "vitest";

const PATHS = [process.env["CHROMIUM"] ?? "", "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** A browser on a busy machine takes its time. */
const TEST_LIMIT_MS = 90_000;

export interface Visit {
  readonly page: Page;
  /** What the browser complained about: errors of scripts, refused requests, violations of the content security policy. */
  readonly complaints: string[];
  /** Requests to anywhere but the application. */
  readonly foreign: string[];
}

export interface VisitOptions extends BrowserContextOptions {
  /** Stands in the address as `#token=`; `null` for nobody. Default the admin's. */
  readonly token?: string | null;
}

/** A real Chromium for the tests of a file; they are skipped, and say so, where none is installed. */
export function startBrowser(): { visit(url: string, options?: VisitOptions): Promise<Visit> } {
  const executablePath = PATHS.find((path) => path !== "" && existsSync(path));
  let browser: Browser | undefined;
  vi.setConfig({ testTimeout: TEST_LIMIT_MS });
  beforeAll(async () => {
    if (executablePath !== undefined) browser = await chromium.launch({ executablePath, args: FLAGS });
  });
  beforeEach((context) => {
    context.skip(executablePath === undefined, "no chromium is installed: run test/setup.sh");
  });
  afterAll(async () => browser?.close());
  return {
    async visit(url, { token = "admin-token", ...options } = {}) {
      if (browser === undefined) throw new Error("The browser has not been started.");
      const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, locale: "en-GB", ...options });
      onTestFinished(() => context.close());
      const page = await context.newPage();
      const visit: Visit = { page, complaints: [], foreign: [] };
      watch(visit, new URL(url).origin);
      await page.goto(token === null ? url : `${url}#token=${token}`);
      return visit;
    },
  };
}

/** Goes to a page of the dashboard, as a link in it does. */
export async function goTo(page: Page, hash: string, heading: string | RegExp): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
  await page.getByRole("heading", { level: 1, name: heading }).waitFor();
}

export function expectNoComplaints({ complaints, foreign }: Visit): void {
  expect(complaints).toEqual([]);
  expect(foreign).toEqual([]);
}

function watch({ page, complaints, foreign }: Visit, origin: string): void {
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("request", (request) => {
    if (new URL(request.url()).origin !== origin && !request.url().startsWith("data:")) foreign.push(request.url());
  });
}
