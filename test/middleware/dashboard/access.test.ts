import { createServer, request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";
import express from "express";
import helmet from "helmet";
import { describe, expect, onTestFinished, test } from "vitest";
import { createDashboard } from "../../../middleware/dashboard/router.js";
import { serve, until } from "../servers.js";
import { expectNoComplaints, goTo, startBrowser } from "./browser.js";
import { authorize, startOperations } from "./operations.js";
import { buildPage } from "./page-folder.js";

const operations = startOperations();
const builtPage = buildPage();
const { visit } = startBrowser();

describe("who may see it", () => {
  test("somebody unknown is told how to get in, sees no data, and gets in with a token", async () => {
    const { page } = await visit(operations().url, { token: null });
    await page.getByRole("heading", { name: "The server does not know you" }).waitFor();
    expect(await page.getByRole("navigation").count()).toBe(0);
    await page.getByText("I run this server").click();
    await page.getByText("skillsDashboard({ authorize })").waitFor();
    await page.getByLabel("Token").fill("wrong-token");
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByText("It refused the token.").waitFor();
    await page.getByLabel("Token").fill("operator-token");
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
  });

  test("a token of the address is taken out of it, kept for this tab, and forgotten when one signs out", async () => {
    const { page } = await visit(operations().url);
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    expect(page.url()).not.toContain("admin-token");
    await page.reload();
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("heading", { name: "The server does not know you" }).waitFor();
    expect(await page.evaluate("JSON.stringify(sessionStorage)")).not.toContain("admin-token");
  });

  test("a session cookie of the application is enough", async () => {
    const { url } = operations();
    const { page } = await visit(url, {
      token: null,
      storageState: {
        cookies: [{ ...cookie, name: "session", value: "operator-token", domain: new URL(url).hostname }],
        origins: [],
      },
    });
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    expect(await page.getByText("oscar").count()).toBe(1);
    expect(await page.getByRole("button", { name: "Sign out" }).count()).toBe(0);
  });

  test("a session that ends while the page is open leads to the sign-in", async () => {
    const { url } = operations();
    const { page } = await visit(url);
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    await page.evaluate("sessionStorage.clear()");
    await page.reload();
    await page.getByRole("heading", { name: "The server does not know you" }).waitFor();
  });

  test("a caller sees its own executions, and nothing that only operators may do", async () => {
    const { url, kit } = operations();
    const own = await kit.executor.execute("sendReminder", { invoice: 1 }, { apiKeyId: "storefront" });
    const others = await kit.executor.execute("sendReminder", { invoice: 1 }, { apiKeyId: "backoffice" });
    const visited = await visit(url, { token: "caller-token" });
    const { page } = visited;
    await goTo(page, "#/executions", "Executions");
    await page.locator(`a[href="#/executions/${own.id}"]`).waitFor();
    expect(await page.locator(`a[href="#/executions/${others.id}"]`).count()).toBe(0);
    expect(await page.getByLabel("Owner").count()).toBe(0);
    await goTo(page, `#/executions/${own.id}`, "sendReminder@1.0.3");
    await page.getByRole("region", { name: "Output" }).waitFor();
    expect(await page.getByRole("button", { name: "Run again" }).count()).toBe(0);
    await goTo(page, "#/skills/sendReminder", "sendReminder");
    expect(await page.getByRole("switch").isDisabled()).toBe(true);
    await goTo(page, "#/settings", "Settings");
    expect(await page.getByRole("switch").count()).toBe(0);
    await goTo(page, "#/overview", "Overview");
    expectNoComplaints(visited);
    await goTo(page, `#/executions/${others.id}`, "Execution");
    await page.getByText("There is no such execution").waitFor();
  });

  test("an operator is told that only an admin may turn the switch", async () => {
    const { page } = await visit(operations().url, { token: "operator-token" });
    await goTo(page, "#/settings", "Settings");
    await page.getByText("Only an admin can change it.").waitFor();
    expect(await page.getByRole("switch").isDisabled()).toBe(true);
  });
});

describe("where it is mounted", () => {
  test.each(["/", "/ops", "/a/b/c/"])("works at %s, opened with and without the slash", async (path) => {
    const url = await serve(express().use(helmet()).use(operations().kit).use(path, createDashboard({ authorize }, builtPage())));
    for (const address of new Set([path, path.replace(/\/$/, ""), `${path.replace(/\/$/, "")}/`])) {
      const visited = await visit(`${url}${address}`);
      await goTo(visited.page, "#/skills", "Skills");
      await visited.page.getByRole("link", { name: "weeklyReport" }).waitFor();
      expectNoComplaints(visited);
    }
  });

  test("works behind a proxy that takes a prefix away", async () => {
    const { url } = operations();
    const visited = await visit(await behindProxy("/tools", url));
    const { page } = visited;
    await goTo(page, "#/skills/summarizeText", "summarizeText");
    await page.getByLabel("text").fill("Hello. World");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.getByRole("region", { name: "Result" }).getByText("characters").waitFor();
    await page.getByRole("link", { name: /^Execution …/ }).click();
    await page.getByRole("region", { name: "Output" }).waitFor();
    expectNoComplaints(visited);
  });
});

test("the page says that the server is gone, and goes on when it is back", async () => {
  const { url } = operations();
  const { page } = await visit(url);
  await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
  await page.route("**/api/**", (route) => route.abort());
  await goTo(page, "#/skills", "Skills");
  await page.getByText("The server does not answer").waitFor();
  await page.unroute("**/api/**");
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByRole("link", { name: "weeklyReport" }).waitFor();
  await until(async () => (await page.getByText("The server does not answer").count()) === 0);
});

test("everything can be reached with the keyboard", async () => {
  const { page } = await visit(operations().url);
  await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
  await page.keyboard.press("Tab");
  expect(await focused()).toBe("Skip to the content");
  await page.keyboard.press("Enter");
  expect(await page.evaluate("document.activeElement.id")).toBe("main");
  await page.keyboard.press("Tab");
  expect(await focused()).toBe("1 hour");
  const outline = await page.evaluate("getComputedStyle(document.activeElement).outlineStyle");
  expect(outline).toBe("solid");
  await page.getByRole("link", { name: "Skills", exact: true }).last().focus();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "Skills" }).waitFor();
  await until(async () => (await focused()) === "Skills");

  function focused(): Promise<string> {
    return page.evaluate<string>("document.activeElement.textContent.trim()");
  }
});

const cookie = { path: "/", expires: -1, httpOnly: true, secure: false, sameSite: "Lax" } as const;

/** Takes `prefix` away, and passes on what is left; changes Host as many proxies do. */
async function behindProxy(prefix: string, url: string): Promise<string> {
  const target = new URL(url);
  const proxy = createServer((request, response) => {
    if (request.url?.startsWith(prefix) !== true) {
      response.writeHead(404).end();
      return;
    }
    const path = request.url.slice(prefix.length);
    const headers = { ...request.headers, host: target.host };
    const passed = httpRequest({ host: target.hostname, port: target.port, path, method: request.method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    passed.on("error", () => response.destroy());
    response.on("close", () => passed.destroy());
    request.pipe(passed);
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    proxy.close();
    proxy.closeAllConnections();
  });
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}${prefix}${target.pathname}`;
}
