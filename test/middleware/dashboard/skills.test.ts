import type { Locator, Page } from "playwright-core";
import { afterEach, describe, expect, test } from "vitest";
import { until } from "../servers.js";
import { expectNoComplaints, goTo, startBrowser } from "./browser.js";
import { startOperations } from "./operations.js";

const operations = startOperations(async (kit) => {
  kit.executor.registerHandler("notes", ({ text }) => ({ notes: String(text).split(". ") }));
  await kit.registry.register({
    name: "privateNotes",
    schema: { type: "object", properties: { text: { type: "string" } } },
    handler: "notes",
    apiKeyId: "storefront",
  });
});
const { visit } = startBrowser();

afterEach(() => operations().workload.finish());

describe("trying a skill", () => {
  test("runs it with what the form says, and shows the output below", async () => {
    const visited = await visit(operations().url);
    const { page } = visited;
    await open(page, "summarizeText", "2.0.0");
    await page.getByLabel("text").fill("It rained. The garden is green. The cat sleeps");
    await page.getByLabel("sentences").fill("2");
    await page.getByLabel("language").selectOption("de");
    await page.getByRole("button", { name: "Add to keywords" }).click();
    await page.getByRole("textbox", { name: "keywords 1" }).fill("garden");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    const result = page.getByRole("region", { name: "Result" });
    await result.getByText('"The garden is green"').waitFor();
    const [execution] = await operations().kit.executor.listExecutions({ skillName: "summarizeText" });
    expect(execution?.input).toEqual({
      text: "It rained. The garden is green. The cat sleeps",
      sentences: 2,
      language: "de",
      keywords: ["garden"],
    });
    expect(execution?.apiKeyId).toBe("ada");
    expectNoComplaints(visited);
  });

  test("shows what is wrong with the input at the fields that it is about", async () => {
    const { page } = await visit(operations().url);
    await open(page, "@shop/price-quote", "3.2.1");
    const run = page.getByRole("button", { name: "Run", exact: true });
    await page.getByLabel("weightKg").fill("heavy");
    await page.getByLabel("country").fill("Germany");
    await page.getByLabel("postcode").fill("10115-Berlin-Mitte");
    await run.click();
    await page.getByText("The input does not match the schema").waitFor();
    await faultOf(page, "/weightKg").getByText("must be number").waitFor();
    expect(await page.getByLabel("weightKg").getAttribute("aria-invalid")).toBe("true");
    await until(async () => (await page.evaluate("document.activeElement.getAttribute('aria-invalid')")) === "true");
    await page.getByLabel("weightKg").fill("2.50");
    await run.click();
    await faultOf(page, "/to/country").getByText("must match pattern").waitFor();
    await page.getByLabel("country").fill("DE");
    await run.click();
    await faultOf(page, "/to/postcode").getByText("must NOT have more than 12 characters").waitFor();
    await page.getByLabel("postcode").fill("10115");
    await run.click();
    await page.getByText("Parcel Post").waitFor();
    expect(await page.locator(".invalid").count()).toBe(0);
  });

  test("says what is missing at the field that is missing", async () => {
    const { page } = await visit(operations().url);
    await open(page, "summarizeText", "2.0.0");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.getByText("The input does not match the schema").waitFor();
    await faultOf(page, "/text").getByText("is required").waitFor();
  });

  test("takes the input as JSON, and does not send what is none", async () => {
    const { page } = await visit(operations().url);
    await open(page, "summarizeText", "2.0.0");
    await page.getByRole("button", { name: "JSON", exact: true }).click();
    const area = page.getByLabel("Input as JSON");
    expect(JSON.parse(await area.inputValue())).toEqual({ sentences: 3 });
    const sent: string[] = [];
    page.on("request", (request) => sent.push(request.method()));
    await area.fill("{ text: ");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    expect(await page.evaluate("document.activeElement.validationMessage")).toMatch(/^This is not JSON/);
    expect(sent).not.toContain("POST");
    await area.fill('{ "text": "One. Two", "sentences": 1 }');
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.getByRole("region", { name: "Result" }).getByText('"One"').waitFor();
  });

  test("follows a call that takes long", async () => {
    const { url, workload } = operations();
    const { page } = await visit(url);
    await open(page, "importCatalogue", "1.4.0");
    await page.getByLabel("supplier").fill("Northwind");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    const result = page.getByRole("region", { name: "Result" });
    await result.getByText("Running").first().waitFor();
    workload.report(0.25, "A quarter is done");
    await result.getByText("25 %").waitFor();
    workload.finish();
    await result.getByText("Success").waitFor();
  });

  test("runs a skill of another owner as that owner, for an admin", async () => {
    const { page } = await visit(operations().url);
    await goTo(page, "#/skills", "Skills");
    await page.getByRole("link", { name: "privateNotes" }).click();
    await page.getByText("It runs as storefront.").waitFor();
    await page.getByLabel("text").fill("Mine. Yours");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.getByRole("region", { name: "Result" }).getByText('"Mine"').waitFor();
  });
});

describe("operating a skill", () => {
  test("disables and enables a version, and changes its mode", async () => {
    const { url, kit } = operations();
    const { page } = await visit(url);
    await open(page, "summarizeText", "1.1.0");
    await page.getByRole("switch", { name: "Version 1.1.0 is enabled" }).click();
    await page.getByText("Disabled: ranges skip this version").waitFor();
    expect((await kit.registry.getSkill("summarizeText@1.1.0", "system"))?.enabled).toBe(false);
    await page.getByRole("switch", { name: "Version 1.1.0 is enabled" }).click();
    await page.getByText("Enabled", { exact: true }).waitFor();
    await page.getByLabel("Mode").selectOption("auto");
    await until(async () => (await kit.registry.getSkill("summarizeText@1.1.0", "system"))?.mode === "auto");
  });

  test("unregisters a version after asking, with a name that has a scope", async () => {
    const { url, kit } = operations();
    await kit.registry.register({ name: "@old/thing", schema: { type: "object" }, handler: "summarizeText@1.0.0" });
    const { page } = await visit(url);
    await goTo(page, "#/skills?name=%40old%2Fthing", "Skills");
    await page.getByRole("link", { name: "@old/thing" }).click();
    await page.getByRole("button", { name: "Unregister" }).click();
    const dialog = page.getByRole("dialog", { name: "Unregister @old/thing@1.0.0?" });
    await dialog.getByRole("button", { name: "Unregister" }).click();
    await page.getByRole("heading", { level: 1, name: "Skills" }).waitFor();
    expect(await kit.registry.getSkill("@old/thing@1.0.0", "system")).toBeUndefined();
  });

  test("switches all skills off and on again after asking, and says so on every page", async () => {
    const { url, kit } = operations();
    const visited = await visit(url);
    const { page } = visited;
    await goTo(page, "#/settings", "Settings");
    await page.getByRole("switch", { name: "Skills are switched on" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Switch off" }).click();
    await page.getByText("All skills are switched off").waitFor();
    expect(await kit.registry.getSkillsEnabled()).toBe(false);
    await open(page, "summarizeText", "2.0.0");
    await page.getByLabel("text").fill("Hello");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.getByText("Switch skills on again under Settings.").waitFor();
    await goTo(page, "#/settings", "Settings");
    await page.getByRole("switch", { name: "Skills are switched on" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Switch on" }).click();
    await page.getByText("All skills are switched off").waitFor({ state: "detached" });
    expect(await kit.registry.getSkillsEnabled()).toBe(true);
  });
});

async function open(page: Page, name: string, version: string): Promise<void> {
  await goTo(page, `#/skills/${encodeURIComponent(name)}?version=${version}&owner=system`, name);
  await page.getByRole("heading", { name: "Try it" }).waitFor();
}

function faultOf(page: Page, pointer: string): Locator {
  return page.locator(`[data-pointer="${pointer}"] .form-faults`);
}
