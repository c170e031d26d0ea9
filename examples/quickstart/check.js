// Starts the server as a user does, tries what it says to try, and looks at the answers.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const folder = await mkdtemp(join(tmpdir(), "express-skills-quickstart-"));
const server = spawn(process.execPath, [fileURLToPath(new URL("server.js", import.meta.url))], {
  env: { ...process.env, PORT: "0", SKILLS_DATABASE: join(folder, "skills.db") },
  stdio: ["ignore", "pipe", "inherit"],
});
const ended = once(server, "exit");

try {
  const url = await listeningUrl();
  await checkAnswers(url);
  server.kill("SIGTERM");
  const [code] = await ended;
  assert.equal(code, 0, "the server closes cleanly");
  console.log("quickstart: every answer is right");
} finally {
  server.kill("SIGKILL");
  await rm(folder, { recursive: true });
}

/** @param {string} url */
async function checkAnswers(url) {
  const help = await (await fetch(url)).text();
  assert.match(help, /curl http/);

  const { status, body: express } = await get(`${url}/packages/express`);
  assert.equal(status, 200);
  assert.match(express.version, /^\d+\.\d+\.\d+/);
  assert.equal(express.method, "scored");
  assert.equal(express.summary.length, 3);
  assert.ok(express.keywords.includes("express"));

  const { body: scoped } = await get(`${url}/packages/@standard-schema%2Fspec`);
  assert.equal(scoped.package, "@standard-schema/spec");
  assert.ok(scoped.keywords.includes("schema"));

  const { body: versions } = await get(`${url}/packages/kysely/versions`);
  assert.equal(versions["summarise@^1"].method, "first");
  assert.equal(versions["summarise@2"].method, "scored");

  const { body: outline } = await get(`${url}/packages/semver/outline`);
  const ranges = outline.find((/** @type {any} */ { title }) => title === "Ranges");
  assert.match(ranges.summary, /range/);

  const own = await post(`${url}/summaries`, {
    text: "The cat sat on the mat. The garden has green grass everywhere.",
    sentences: 1,
  });
  assert.deepEqual(own.body.summary, ["The garden has green grass everywhere."]);

  await checkRefusals(url);
  await checkExecutions(url);
}

/** @param {string} url */
async function checkRefusals(url) {
  const invalid = await post(`${url}/summaries`, { sentences: 0 });
  assert.equal(invalid.status, 422);
  assert.equal(invalid.body.code, "INVALID_INPUT");

  const missing = await get(`${url}/packages/no-such-package`);
  assert.equal(missing.status, 404);
  assert.match(missing.body.detail, /no-such-package/);

  const outside = await get(`${url}/packages/${encodeURIComponent("../..")}`);
  assert.equal(outside.status, 422);
}

/** @param {string} url */
async function checkExecutions(url) {
  const { body: executions } = await get(`${url}/executions`);
  const nested = executions.filter((/** @type {any} */ { parentId }) => parentId !== null);
  assert.ok(nested.every((/** @type {any} */ { skill }) => skill === "summarise@2.0.0" || skill === "readme@1.0.0"));
  assert.ok(nested.length > 0, "calls from inside a skill have a parent");
  assert.equal(executions.filter((/** @type {any} */ { status }) => status === "DENIED").length, 2);
}

/**
 * @param {string} url
 * @returns {Promise<{ status: number, body: any }>}
 */
async function get(url) {
  const response = await fetch(url);
  return { status: response.status, body: await response.json() };
}

/**
 * @param {string} url
 * @param {object} input
 * @returns {Promise<{ status: number, body: any }>}
 */
async function post(url, input) {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(input),
  });
  return { status: response.status, body: await response.json() };
}

async function listeningUrl() {
  for await (const chunk of server.stdout.setEncoding("utf8").iterator({ destroyOnReturn: false })) {
    const url = /Listening on (http:\S+)/.exec(chunk)?.[1];
    if (url !== undefined) {
      server.stdout.resume();
      return url;
    }
  }
  throw new Error("The server ended before it listened");
}
