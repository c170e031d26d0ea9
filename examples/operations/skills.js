import { readdir, readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { SkillError } from "express-skills";

const packages = new URL("../../node_modules/", import.meta.url);

/**
 * @param {Pick<import("express-skills").SkillsKit, "define">} kit
 * @param {string} image
 */
export function defineSkills(kit, image) {
  kit.define({
    name: "licences",
    version: "1.0.0",
    description: "Which licences the installed packages have, and which packages have one that is not allowed.",
    tags: ["audit"],
    schema: {
      type: "object",
      properties: {
        allowed: {
          type: "array",
          items: { type: "string", maxLength: 60 },
          minItems: 1,
          maxItems: 20,
          default: ["MIT", "ISC", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause"],
        },
        pauseMs: {
          type: "integer",
          minimum: 0,
          maximum: 100,
          default: 0,
          description: "Rest after each package, to have something to watch.",
        },
      },
      required: ["allowed"],
      additionalProperties: false,
    },
    timeoutMs: 120_000,
    concurrency: { limit: 2, queue: 10 },
    handler: async ({ allowed, pauseMs = 0 }, context) => {
      const names = await installedPackages();
      /** @type {Record<string, number>} */
      const counts = Object.create(null);
      const others = [];
      for (const [index, name] of names.entries()) {
        context.signal.throwIfAborted();
        const licence = await licenceOf(name);
        counts[licence] = (counts[licence] ?? 0) + 1;
        if (!allowed.includes(licence)) {
          others.push({ name, licence });
          context.log("A licence that is not allowed", { name, licence });
        }
        context.progress((index + 1) / names.length, name);
        if (pauseMs > 0) await sleep(pauseMs);
      }
      return { packages: names.length, counts, others };
    },
  });

  kit.define({
    name: "licenceOf",
    version: "1.0.0",
    description: "The licence of one installed package.",
    tags: ["audit"],
    schema: {
      type: "object",
      properties: { package: { type: "string", pattern: "^(@[a-z0-9._-]+/)?[a-z0-9][a-z0-9._-]*$", maxLength: 214 } },
      required: ["package"],
    },
    handler: async ({ package: name }) => {
      if (!(await installedPackages()).includes(name))
        throw new SkillError("SKILL_FAILED", `${name} is not installed.`, { status: 404, expose: true });
      return { package: name, licence: await licenceOf(name) };
    },
  });

  kit.define({
    name: "checkSource",
    version: "1.0.0",
    description: "Whether a program is valid JavaScript; it is parsed in a container.",
    tags: ["container"],
    schema: {
      type: "object",
      properties: { source: { type: "string", maxLength: 20_000 } },
      required: ["source"],
      additionalProperties: false,
    },
    timeoutMs: 10_000,
    // One waits, started ahead, for the next call.
    container: {
      image,
      command: ["node", "check.mjs"],
      files: { "check.mjs": checkSource },
      memoryMb: 128,
      warm: 1,
      pull: "never",
    },
  });
}

/** Says whether a program could start, without ever running it in the server: the image's own Node parses it. */
const checkSource = `
  import { createInterface } from "node:readline";
  import { Script } from "node:vm";
  for await (const line of createInterface({ input: process.stdin })) {
    const { source } = JSON.parse(line);
    console.error("parsing " + source.length + " characters");
    try {
      new Script(source);
      console.log(JSON.stringify({ ok: true }));
    } catch (error) {
      console.log(JSON.stringify({ ok: false, error: String(error) }));
    }
  }
`;

/** @returns {Promise<string[]>} */
async function installedPackages() {
  const names = await Promise.all(
    (await readdir(packages)).map(async (name) => {
      if (!name.startsWith("@")) return [name];
      return (await readdir(new URL(`${name}/`, packages))).map((inner) => `${name}/${inner}`);
    }),
  );
  return names.flat().filter((name) => !name.startsWith("."));
}

/** @param {string} name */
async function licenceOf(name) {
  const text = await readFile(new URL(`${name}/package.json`, packages), "utf8").catch(() => "{}");
  const { license } = JSON.parse(text);
  return typeof license === "string" ? license : "unknown";
}
