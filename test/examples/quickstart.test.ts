import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, get, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { createApp } from "../../examples/quickstart/app.js";

const run = promisify(execFile);
const hasCurl = await run("curl", ["--version"]).then(
  () => true,
  () => false,
);

test("every curl line that the quickstart prints works as printed, and Ctrl-C ends it cleanly", async (context) => {
  context.skip(!hasCurl, "curl is not installed");
  const server = spawn(process.execPath, [fileURLToPath(new URL("../../examples/quickstart/server.js", import.meta.url))], {
    env: { ...process.env, PORT: "0", SKILLS_DATABASE: join(await temporaryFolder(), "skills.db") },
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void server.kill("SIGKILL"));
  const [printed] = (await once(server.stdout.setEncoding("utf8"), "data")) as [string];
  const lines = printed.split("\n").filter((line) => line.startsWith("  curl "));
  expect(lines.length).toBeGreaterThan(4);
  for (const line of lines) {
    const { stdout } = await run("sh", ["-c", `${line} --silent --show-error`]);
    expect(JSON.parse(stdout), line).not.toEqual({});
  }
  server.kill("SIGINT");
  expect(await once(server, "exit")).toEqual([0, null]);
});

test.each(["../package.json", "..", ".", ".bin", "@/..", "@scope/../..", "/etc", "a/b/c", "%00", "A", ".package-lock.json"])(
  "the quickstart answers 4xx for %j and reads nothing outside a package's folder",
  async (name) => {
    const { app, kit } = createApp({ database: join(await temporaryFolder(), "skills.db") });
    const server = createServer(app).listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(async () => {
      server.close();
      await kit.close();
    });
    const { port } = server.address() as AddressInfo;
    // Not by fetch, which takes dots out of a path.
    const [response] = (await once(get({ port, path: `/packages/${encodeURIComponent(name)}` }), "response")) as [
      IncomingMessage,
    ];
    response.resume();
    expect([400, 404, 422]).toContain(response.statusCode);
  },
);

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "express-skills-test-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
