import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { until } from "../servers.js";
import { expectNoComplaints, goTo, startBrowser, type VisitOptions } from "./browser.js";
import { startOperations } from "./operations.js";
import { runHistory } from "./workload.js";

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const operations = startOperations((kit) => runHistory(kit, 24, (hour) => 8 + Math.round(7 * Math.sin(hour / 3.2))));
const { visit } = startBrowser();

const PAGES = [
  { name: "overview", hash: "#/overview?range=24h", heading: "Overview", shows: "Failing most" },
  { name: "skills", hash: "#/skills", heading: "Skills", shows: "importCatalogue" },
  { name: "skill", hash: "#/skills/summarizeText?version=2.0.0&owner=system", heading: "summarizeText", shows: "Input schema" },
  { name: "executions", hash: "#/executions", heading: "Executions", shows: "weeklyReport" },
  { name: "settings", hash: "#/settings", heading: "Settings", shows: "Skills are on" },
] as const;

const LOOKS: Readonly<Record<string, VisitOptions>> = {
  "wide-light": { colorScheme: "light" },
  "wide-dark": { colorScheme: "dark" },
  "phone-light": { colorScheme: "light", viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true },
  "phone-dark": { colorScheme: "dark", viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true },
};

describe.each(Object.entries(LOOKS))("%s", (look, options) => {
  test.each(PAGES)("the page $name is whole, accessible and fits", async ({ name, hash, heading, shows }) => {
    const visited = await visit(operations().url, options);
    await goTo(visited.page, hash, heading);
    await visited.page.getByText(shows).first().waitFor();
    await settle(visited.page);
    await picture(visited.page, `${name}-${look}`);
    expect(await seriousFindings(visited.page)).toEqual([]);
    expect(await overflow(visited.page)).toBeLessThanOrEqual(0);
    expectNoComplaints(visited);
  });

  test("the page of an execution is whole, accessible and fits", async () => {
    const { kit, url } = operations();
    const { id } = await kit.executor.execute("weeklyReport", { week: 9 }, { apiKeyId: "backoffice", sessionId: "session-1" });
    const visited = await visit(url, options);
    await goTo(visited.page, `#/executions/${id}`, "weeklyReport@1.0.0");
    await visited.page.getByRole("region", { name: "Output" }).waitFor();
    await visited.page.getByText("Have the figures").waitFor();
    await visited.page.getByRole("link", { name: "summarizeText@1.1.0" }).waitFor();
    await settle(visited.page);
    await picture(visited.page, `execution-${look}`);
    expect(await seriousFindings(visited.page)).toEqual([]);
    expect(await overflow(visited.page)).toBeLessThanOrEqual(0);
    expectNoComplaints(visited);
  });
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
  if (process.env["UPDATE_SCREENSHOTS"] !== "1") return;
  const path = fileURLToPath(new URL(`../../../middleware/dashboard/screenshots/${name}.png`, import.meta.url));
  await page.screenshot({ path });
}
