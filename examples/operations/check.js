// Starts the server as a user does, tries what it says to try, and looks at the answers.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const folder = await mkdtemp(join(tmpdir(), "express-skills-operations-"));
const server = spawn(process.execPath, [fileURLToPath(new URL("server.js", import.meta.url))], {
  env: { ...process.env, PORT: "0", SKILLS_DATABASE: join(folder, "skills.db") },
  stdio: ["ignore", "pipe", "inherit"],
});
const ended = once(server, "exit");

try {
  const { url, adminKey, callerKey } = await whatItSays();
  const admin = client(url, adminKey);
  const caller = client(url, callerKey);
  await checkAccess(url);
  await checkRuns(caller, admin);
  await checkDashboard(url, admin);
  await checkContainer(caller, admin);
  const metrics = await admin("metrics");
  assert.match(metrics.text, /skill_executions_total\{[^}]*skill="licences"[^}]*\} [1-9]/);
  server.kill("SIGTERM");
  const [code] = await ended;
  assert.equal(code, 0, "the server closes cleanly");
  console.log("operations: every answer is right");
} finally {
  server.kill("SIGKILL");
  await rm(folder, { recursive: true });
}

/** @param {string} url */
async function checkAccess(url) {
  const nobody = client(url, "guessed");
  for (const path of ["api/skills", "ops/api/skills", "ops/session", "metrics"])
    assert.equal((await nobody(path)).status, 401, path);
}

/**
 * @param {Client} caller
 * @param {Client} admin
 */
async function checkRuns(caller, admin) {
  const done = await caller("api/skills/licences/executions", { allowed: ["MIT"] });
  assert.equal(done.status, 201);
  assert.equal(done.body.status, "SUCCESS");
  assert.ok(done.body.output.counts.MIT > 10, "most packages have the MIT licence");

  const started = await caller("api/skills/licences/executions", { allowed: ["MIT"], pauseMs: 100 }, { Prefer: "wait=0" });
  assert.equal(started.status, 202);
  const { id } = started.body;
  assert.equal((await caller(`api/executions/${id}/cancel`, {})).status, 202);
  assert.equal((await endOf(caller, id)).status, "CANCELLED");

  const refused = await caller("api/skills/licences/executions", { allowed: [] });
  assert.equal(refused.status, 422);
  assert.equal(refused.body.faults[0].pointer, "/allowed");
  assert.equal((await caller("api/settings")).status, 403, "settings are not for callers");

  await admin("api/skills/licenceOf/executions", { package: "express" });
  const { body: own } = await caller("api/executions");
  assert.ok(
    own.items.every((/** @type {any} */ { apiKeyId }) => apiKeyId === "build-server"),
    "a caller sees its own only",
  );
  const { body: all } = await admin("api/executions");
  assert.equal(all.items.length, own.items.length + 1);
}

/**
 * Needs a container engine that has the image of OPERATIONS_IMAGE, by default node:22-alpine; without it this part counts as skipped.
 *
 * @param {Client} caller
 * @param {Client} admin
 */
async function checkContainer(caller, admin) {
  const foreign = {
    name: "foreign",
    schema: { type: "object" },
    container: { image: "example.com/miner", command: ["mine"] },
  };
  assert.equal((await admin("api/skills", foreign)).body.code, "IMAGE_NOT_ALLOWED");

  const { body: engines } = await admin("api/engines");
  const first = engines.sandbox === null ? null : await admin("api/skills/checkSource/executions", { source: "let a = 1;" });
  if (first === null || first.body.errorCode === "IMAGE_NOT_FOUND") {
    console.log(`operations: no container was run. ${engines.problem?.detail ?? first?.body.errorMessage}`);
    process.exitCode = 77;
    return;
  }
  assert.deepEqual(first.body.output, { ok: true });
  assert.equal(first.body.log, "parsing 10 characters\n");
  assert.equal(first.body.sandbox.runtime, engines.sandbox.engine);
  const { body: refused } = await caller("api/skills/checkSource/executions", { source: "let a b;" });
  assert.match(refused.output?.error, /SyntaxError/, JSON.stringify(refused));
  assert.deepEqual([refused.sandbox, refused.log], [undefined, undefined], "how it ran is for operators");
  const { text } = await admin("metrics");
  assert.match(text, /skill_executions_total\{[^}]*skill="checkSource"[^}]*\} 2/);
  assert.match(text, /skill_sandbox_slots\{state="waiting"\} \d/);
}

/**
 * @param {string} url
 * @param {Client} admin
 */
async function checkDashboard(url, admin) {
  const page = await fetch(`${url}/ops`);
  assert.match(page.url, /\/ops\/$/);
  const html = await page.text();
  const [, script] = /src="\.\/(assets\/[^"]+)"/.exec(html) ?? [];
  const asset = await fetch(`${url}/ops/${script}`);
  assert.equal(asset.status, 200);
  assert.equal(asset.headers.get("x-dns-prefetch-control"), "off", "helmet is in front");
  assert.ok(asset.headers.has("content-encoding"), "answers are compressed");
  assert.deepEqual((await admin("ops/session")).body, { apiKeyId: "admin", role: "admin" });
  assert.ok((await admin("ops/api/stats")).body.count > 2);
}

/**
 * @param {Client} caller
 * @param {string} id
 */
async function endOf(caller, id) {
  for (let attempt = 0; attempt < 100; attempt++) {
    const { body } = await caller(`api/executions/${id}`);
    if (body.finishedAt !== null) return body;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`Execution ${id} did not end`);
}

/** @typedef {(path: string, input?: object, headers?: Record<string, string>) => Promise<{ status: number, body: any, text: string }>} Client */

/**
 * @param {string} url
 * @param {string} key
 * @returns {Client}
 */
function client(url, key) {
  return async (path, input, headers = {}) => {
    const response = await fetch(`${url}/${path}`, {
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
      ...(input === undefined ? {} : { method: "POST", body: JSON.stringify(input) }),
    });
    const text = await response.text();
    const isJson = /[/+]json/.test(response.headers.get("content-type") ?? "");
    return { status: response.status, text, body: isJson ? JSON.parse(text) : text };
  };
}

async function whatItSays() {
  let said = "";
  for await (const chunk of server.stdout.setEncoding("utf8").iterator({ destroyOnReturn: false })) {
    said += chunk;
    const [, url, adminKey] = /(http:\S+)\/ops\/#token=(\S+)/.exec(said) ?? [];
    const callerKey = /Bearer (\S+)' -H 'Prefer/.exec(said)?.[1];
    if (url === undefined || adminKey === undefined || callerKey === undefined) continue;
    server.stdout.resume();
    return { url, adminKey, callerKey };
  }
  throw new Error("The server ended before it listened");
}
