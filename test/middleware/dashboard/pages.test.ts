import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import type { SkillsMiddleware } from "../../../middleware/index.js";
import { until } from "../servers.js";
import { expectNoComplaints, goTo, startBrowser, type VisitOptions } from "./browser.js";
import { startOperations } from "./operations.js";
import { runHistory } from "./workload.js";

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const operations = startOperations((kit) => runHistory(kit, 24, (hour) => 8 + Math.round(7 * Math.sin(hour / 3.2))));
const { visit } = startBrowser();

interface Stop {
  readonly name: string;
  readonly hash: string;
  readonly heading: string;
  /** Texts that are there once everything has been loaded. */
  readonly shows: readonly string[];
}

const STOPS: readonly Stop[] = [
  {
    name: "overview",
    hash: "#/overview?range=24h",
    heading: "Overview",
    shows: ["Failing most", "Skills are on", "Container engine"],
  },
  { name: "skills", hash: "#/skills", heading: "Skills", shows: ["importCatalogue"] },
  { name: "skill", hash: "#/skills/summarizeText?version=2.0.0&owner=system", heading: "summarizeText", shows: ["Input schema"] },
  { name: "executions", hash: "#/executions?status=FAILED", heading: "Executions", shows: ["sendReminder", "Timeout"] },
  { name: "settings", hash: "#/settings", heading: "Settings", shows: ["Skills are on"] },
  { name: "nowhere", hash: "#/nowhere/at/all", heading: "No such page", shows: ["The address leads nowhere"] },
];

const LOOKS: Readonly<Record<string, VisitOptions>> = {
  "wide-light": { colorScheme: "light" },
  "wide-dark": { colorScheme: "dark" },
  "phone-light": { colorScheme: "light", viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true },
};

/** Those that the README shows. */
const PICTURES = [
  "overview-wide-light",
  "overview-wide-dark",
  "skill-wide-light",
  "execution-wide-light",
  "executions-wide-dark",
  "overview-phone-light",
];

const LIMIT_MS = 240_000;

describe.each(Object.entries(LOOKS))("%s", (look, options) => {
  test("every page is whole, accessible and fits", { timeout: LIMIT_MS }, async () => {
    const { kit, url, engine } = operations();
    const { id } = await kit.executor.execute("weeklyReport", { week: 9 }, { apiKeyId: "backoffice", sessionId: "session-1" });
    const failed = await kit.executor.execute("sendReminder", { invoice: 3 });
    const executions = [
      {
        name: "execution",
        hash: `#/executions/${id}`,
        heading: "weeklyReport@1.0.0",
        shows: ["Have the figures", "summarizeText@1.1.0"],
      },
      { name: "failed", hash: `#/executions/${failed.id}`, heading: "sendReminder@1.0.3", shows: ["550 no such user"] },
    ];
    const visited = await visit(url, options);
    const lookAt = async (stop: Stop) => {
      await goTo(visited.page, stop.hash, stop.heading);
      for (const text of stop.shows) await visited.page.getByText(text).filter({ visible: true }).first().waitFor();
      await settle(visited.page);
      await picture(visited.page, `${stop.name}-${look}`);
      expect(await seriousFindings(visited.page), stop.name).toEqual([]);
      expect(await overflow(visited.page), `${stop.name} is wider than the window`).toBeLessThanOrEqual(0);
    };
    for (const stop of [...STOPS, ...executions]) await lookAt(stop);
    // Last, since a container's first start would be all that the charts of the pictures show.
    if (engine !== undefined) await lookAt(await containerStop(kit));
    expectNoComplaints(visited);
  });
});

/** An execution that ran in a container: its facts, and what the program wrote to its standard error. */
async function containerStop({ executor }: SkillsMiddleware): Promise<Stop> {
  const { id, sandbox } = await executor.execute("wordCount", { text: "The cat sat on the mat" }, { timeoutMs: 60_000 });
  const shows = ["counting", "localhost/express-skills-test/shell:1", sandbox?.runtime ?? "no engine"];
  return { name: "container", hash: `#/executions/${id}`, heading: "wordCount@1.0.0", shows };
}

test("the page for somebody unknown is accessible, in light and dark", { timeout: LIMIT_MS }, async () => {
  for (const colorScheme of ["light", "dark"] as const) {
    const { page } = await visit(operations().url, { token: null, colorScheme });
    await page.getByRole("heading", { name: "The server does not know you" }).waitFor();
    expect(await seriousFindings(page)).toEqual([]);
  }
});

/** Serious and critical findings of axe, with what they are about. */
async function seriousFindings(page: Page): Promise<string[]> {
  await page.evaluate(axeSource);
  const { violations } = await page.evaluate<{ violations: AxeViolation[] }>("axe.run()");
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join(" | ")}`);
}

interface AxeViolation {
  readonly id: string;
  readonly impact: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

/** How many pixels of the page lie beyond the right edge. */
function overflow(page: Page): Promise<number> {
  return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
}

/** Nothing is being loaded any more. */
async function settle(page: Page): Promise<void> {
  await until(async () => (await page.locator(".loading").count()) === 0);
  await page.evaluate("document.fonts.ready.then(() => true)");
}

/** The pictures of the README. */
async function picture(page: Page, name: string): Promise<void> {
  if (process.env["UPDATE_SCREENSHOTS"] !== "1" || !PICTURES.includes(name)) return;
  const path = fileURLToPath(new URL(`../../../middleware/dashboard/screenshots/${name}.png`, import.meta.url));
  await page.screenshot({ path });
}
