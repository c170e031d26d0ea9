import { createServer, request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";
import type { Locator, Page } from "playwright-core";
import { afterEach, describe, expect, onTestFinished, test } from "vitest";
import { newKit, until } from "../servers.js";
import { expectNoComplaints, goTo, startBrowser } from "./browser.js";
import { startOperations } from "./operations.js";

const operations = startOperations();
const { visit } = startBrowser();

afterEach(() => operations().workload.finish());

describe("the list of executions", () => {
  test("shows a call when it begins and when it ends, without being loaded again", async () => {
    const { kit, workload, url } = operations();
    const visited = await visit(url);
    const { page } = visited;
    await goTo(page, "#/executions", "Executions");
    await page.getByText("Live", { exact: true }).waitFor();
    const { id, ended } = await kit.executor.start("importCatalogue", { supplier: "Northwind" });
    const row = rowOf(page, id);
    await row.getByText("Running").waitFor();
    workload.finish();
    await ended;
    await row.getByText("Success").waitFor();
    expectNoComplaints(visited);
  });

  test("shows what another kit on the same database does, without being loaded again", async () => {
    const { database, url } = operations();
    const other = newKit({ database, worker: false });
    let finish = () => {};
    other.define({
      name: "elsewhere",
      schema: { type: "object" },
      handler: () =>
        new Promise<null>((resolve) => {
          finish = () => resolve(null);
        }),
    });
    const visited = await visit(url);
    const { page } = visited;
    await goTo(page, "#/executions", "Executions");
    await page.getByText("Live", { exact: true }).waitFor();
    const { id, ended } = await other.executor.start("elsewhere", {});
    const row = rowOf(page, id);
    await row.getByText("Running").waitFor();
    finish();
    await ended;
    await row.getByText("Success").waitFor();
    await page.getByText("Live", { exact: true }).waitFor();
    expectNoComplaints(visited);
  });

  test("keeps its filter in the address and shows only what fits", async () => {
    const { kit, url } = operations();
    await kit.executor.execute("sendReminder", { invoice: 3 });
    await kit.executor.execute("sendReminder", { invoice: 4 });
    const { page } = await visit(url);
    await goTo(page, "#/executions", "Executions");
    await page.getByLabel("Status").selectOption("All failed");
    await page.getByLabel("Skill").fill("sendReminder");
    await until(() => page.url().endsWith("#/executions?status=FAILED&skill=sendReminder"));
    await until(async () => (await page.getByRole("row").count()) === 2);
    await page.getByRole("cell", { name: "SKILL_FAILED" }).waitFor();
    await page.reload();
    await until(async () => (await page.getByRole("row").count()) === 2);
    expect(await page.getByLabel("Skill").inputValue()).toBe("sendReminder");
    await page.getByRole("button", { name: "Clear the filter" }).click();
    await until(async () => (await page.getByRole("row").count()) > 2);
  });

  test("keeps a choice that was made while another field was still being typed in", async () => {
    const { url } = operations();
    const { page } = await visit(url);
    await goTo(page, "#/executions", "Executions");
    await page.getByLabel("Skill").fill("sendReminder");
    await page.getByLabel("Status").selectOption("All failed");
    await until(() => page.url().includes("skill=sendReminder"));
    expect(page.url()).toContain("status=FAILED");
  });

  test("shows older ones when asked to, and keeps them when it is told of new ones", async () => {
    const { kit, url } = operations();
    const call = { sessionId: "many" };
    for (let number = 0; number < 60; number++) await kit.executor.execute("sendReminder", { invoice: 1 }, call);
    const { page } = await visit(url);
    await goTo(page, "#/executions?session=many", "Executions");
    await page.getByText("50 shown").waitFor();
    await page.getByRole("button", { name: "Show older ones" }).click();
    await page.getByText("60 shown: all of them").waitFor();
    await kit.executor.execute("sendReminder", { invoice: 1 }, call);
    await page.getByText("61 shown: all of them").waitFor();
  });

  test("does not give up older ones that load slowly when it is told of new ones meanwhile", async () => {
    const { kit, url } = operations();
    const call = { sessionId: "slow" };
    for (let number = 0; number < 60; number++) await kit.executor.execute("sendReminder", { invoice: 1 }, call);
    const { page } = await visit(url);
    await goTo(page, "#/executions?session=slow", "Executions");
    await page.getByText("50 shown").waitFor();
    let release: (() => void) | undefined;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route(/executions\?.*cursor=/, async (route) => {
      await released;
      await route.continue().catch(() => undefined);
    });
    await page.getByRole("button", { name: "Show older ones" }).click();
    await kit.executor.execute("sendReminder", { invoice: 1 }, call);
    // Longer than the page gathers news before it loads the first page again.
    await page.waitForTimeout(1500);
    release?.();
    await page.getByText("61 shown: all of them").waitFor();
  });

  test("asks every few seconds where no event stream gets through", async () => {
    const { kit, url } = operations();
    const { page } = await visit(await withoutStreams(url));
    await goTo(page, "#/executions", "Executions");
    await page.getByText("Every few seconds").waitFor();
    const { id } = await kit.executor.execute("sendReminder", { invoice: 1 });
    await rowOf(page, id).waitFor();
  });
});

describe("the page of an execution", () => {
  test("follows progress and log lines, and shows the output when it comes", async () => {
    const { kit, workload, url } = operations();
    const { id } = await kit.executor.start("importCatalogue", { supplier: "Northwind" });
    const visited = await visit(url);
    const { page } = visited;
    await goTo(page, `#/executions/${id}`, "importCatalogue@1.4.0");
    workload.report(0.4, "Read 400 of 1,000 articles");
    await page.getByText("40 %").waitFor();
    await page.getByRole("log").getByText("Read 400 of 1,000 articles").waitFor();
    workload.report(0.9, "Writing prices");
    await page.getByRole("log").getByText("Writing prices").waitFor();
    expect(await page.getByRole("progressbar").getAttribute("value")).toBe("0.9");
    workload.finish();
    await page.getByRole("region", { name: "Output" }).getByText("1284").waitFor();
    expect(await page.getByRole("progressbar").count()).toBe(0);
    expectNoComplaints(visited);
  });

  test("cancels it after asking, and gives the focus back when one thinks better of it", async () => {
    const { kit, url } = operations();
    const { id, ended } = await kit.executor.start("importCatalogue", { supplier: "Northwind" });
    const visited = await visit(url);
    const { page } = visited;
    await goTo(page, `#/executions/${id}`, "importCatalogue@1.4.0");
    const button = page.getByRole("button", { name: "Cancel", exact: true });
    await button.focus();
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog", { name: "Cancel this execution?" });
    await dialog.waitFor();
    expect(await tabStops(page, 6)).toEqual(["dialog"]);
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    expect(await page.evaluate("document.activeElement.textContent.trim()")).toBe("Cancel");
    await button.click();
    await dialog.getByRole("button", { name: "Cancel the execution" }).click();
    await page.getByText("Cancelled", { exact: true }).waitFor();
    expect((await ended).status).toBe("CANCELLED");
    expectNoComplaints(visited);
  });

  test("runs it again as a new execution", async () => {
    const { kit, url } = operations();
    const { id } = await kit.executor.execute("sendReminder", { invoice: 4 });
    const { page } = await visit(url);
    await goTo(page, `#/executions/${id}`, "sendReminder@1.0.3");
    await page.getByRole("button", { name: "Run again" }).click();
    await until(() => /#\/executions\/[0-9a-f-]{36}$/.test(page.url()) && !page.url().endsWith(id));
    await page.getByRole("region", { name: "Output" }).getByText("sent").waitFor();
    const newId = page.url().split("/").at(-1) ?? "";
    expect(await kit.executor.getExecution(newId)).toMatchObject({ status: "SUCCESS", input: { invoice: 4 } });
  });

  test("says of one that is not there what may have become of it", async () => {
    const { page } = await visit(operations().url);
    await goTo(page, "#/executions/01900000-0000-7000-8000-000000000000", "Execution");
    await page.getByText("There is no such execution").waitFor();
  });
});

function rowOf(page: Page, id: string): Locator {
  return page.getByRole("row").filter({ has: page.locator(`a[href="#/executions/${id}"]`) });
}

/** Where the focus goes with the tab key: inside a dialog, in the page, or (between the two) in the browser itself. */
async function tabStops(page: Page, presses: number): Promise<string[]> {
  const stops = new Set<string>();
  for (let press = 0; press < presses; press++) {
    await page.keyboard.press("Tab");
    const stop = await page.evaluate<string>(
      "document.activeElement.closest('dialog') ? 'dialog' : document.activeElement === document.body ? 'browser' : 'page'",
    );
    stops.add(stop);
  }
  stops.delete("browser");
  return [...stops];
}

/** A proxy as some are: everything passes but event streams. */
async function withoutStreams(url: string): Promise<string> {
  const target = new URL(url);
  const proxy = createServer((request, response) => {
    if (request.url?.endsWith("/events") === true) {
      response.writeHead(502).end();
      return;
    }
    const { method, headers } = request;
    const passed = httpRequest({ host: target.hostname, port: target.port, path: request.url, method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    request.pipe(passed);
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    proxy.close();
    proxy.closeAllConnections();
  });
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}${target.pathname}`;
}
