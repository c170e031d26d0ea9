import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { afterAll, beforeAll, expect, test } from "vitest";
import { run } from "./run.js";
import { packTarball, root, type Tarball } from "./tarball.js";

const PAGE = "dist/middleware/dashboard/page/";

let folder: string;
let tarball: Tarball;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "express-skills-pack-"));
  tarball = await packTarball(folder);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test("the tarball holds the built package and its documents, and nothing else", () => {
  const documents = tarball.files.filter((file) => !file.startsWith("dist/"));
  expect(documents.sort()).toEqual(["CHANGELOG.md", "LICENSE", "README.md", "package.json"]);
  const code = tarball.files.filter((file) => !file.startsWith(PAGE));
  expect(code.filter((file) => !/\.(js|d\.ts|md|json)$|LICENSE$/.test(file))).toEqual([]);
});

test("the dashboard's page is built into the tarball, with the licences of what it bundles", () => {
  const page = tarball.files
    .filter((file) => file.startsWith(PAGE))
    .map((file) => file.slice(PAGE.length).replace(/-[\w-]+\./, "-HASH."));
  expect(page.sort()).toEqual([
    "assets/icon-HASH.svg",
    "assets/index-HASH.css",
    "assets/index-HASH.js",
    "index.html",
    "licenses.md",
  ]);
});

test("publint finds nothing wrong with it", async () => {
  const packed = await readFile(tarball.path);
  const bytes = packed.buffer.slice(packed.byteOffset, packed.byteOffset + packed.byteLength) as ArrayBuffer;
  const { messages, pkg } = await publint({ pack: { tarball: bytes }, strict: true });
  expect(messages.map((message) => formatMessage(message, pkg))).toEqual([]);
});

test("are-the-types-wrong finds nothing wrong with it", async () => {
  const attw = join(root, "node_modules/@arethetypeswrong/cli/dist/index.js");
  const printed = await run(process.execPath, [attw, tarball.path, "--profile", "esm-only", "--no-emoji", "--no-color"], root);
  // It ends with an error when there is a problem.
  expect(printed).toContain("OK (ESM)");
});
