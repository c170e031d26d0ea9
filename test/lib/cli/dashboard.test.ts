import { request } from "node:http";
import { describe, expect, test } from "vitest";
import { openTestKit } from "../../fixtures/kit.js";
import { commandLine, handlers, timeout } from "./command-line.js";

describe("express-skills dashboard", { timeout }, () => {
  test("serves the page to everybody on this machine, and data only to who has the token", async () => {
    const line = commandLine();
    line.write("handlers.mjs", handlers);
    const kit = openTestKit({ database: line.file });
    await kit.ready();
    const running = line.start(["dashboard", "--require", "handlers.mjs"]);
    await running.printed("Ctrl-C");
    const [, origin = "", token = ""] = /(http:\/\/127\.0\.0\.1:\d+)\/#token=([\w-]{43})\n/.exec(running.output()) ?? [];
    const page = await fetch(`${origin}/`);
    expect(page.status).toBe(200);
    expect(await page.text()).not.toContain(token);
    expect((await fetch(`${origin}/api/skills`)).status).toBe(401);
    expect((await fetch(`${origin}/api/skills`, { headers: { Authorization: "Bearer wrong" } })).status).toBe(401);
    const skills = await fetch(`${origin}/api/skills`, { headers: { Authorization: `Bearer ${token}` } });
    expect(await skills.json()).toMatchObject({ items: expect.arrayContaining([expect.objectContaining({ name: "count" })]) });
    const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
    const ran = await fetch(`${origin}/api/skills/count/executions`, { method: "POST", headers, body: '{"n":3}' });
    expect(await ran.json()).toMatchObject({ status: "SUCCESS", output: { n: 3 } });
    expect(await statusAs("attacker.example", origin)).toBe(421);
    running.child.kill("SIGINT");
    expect((await running.ended).code).toBe(0);
  });

  test("says when its port is taken", async () => {
    const line = commandLine();
    const kit = openTestKit({ database: line.file });
    await kit.ready();
    const first = line.start(["dashboard", "--json"]);
    await first.printed("address");
    const port = /127\.0\.0\.1:(\d+)/.exec(first.output())?.[1] ?? "";
    const second = await line.run("dashboard", "--port", port);
    expect(second).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining("another program has it") });
    first.child.kill("SIGTERM");
    expect((await first.ended).code).toBe(0);
  });
});

/** The status of an answer to a request that names another host, as after DNS rebinding. */
function statusAs(host: string, origin: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    request(origin, { headers: { host } }, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .on("error", reject)
      .end();
  });
}
