import { readdir, readFile } from "node:fs/promises";
import { bestSentences, cutIntoSections, frequentWords, splitSentences } from "./text.js";

const installed = new URL("../../node_modules/", import.meta.url);

/** As npm names packages. No part begins with a dot, so a name never leads out of `node_modules`. */
const packageName = "^(@[a-z0-9~-][a-z0-9._~-]*/)?[a-z0-9~-][a-z0-9._~-]*$";

const textInput = /** @type {const} */ ({
  type: "object",
  properties: {
    text: { type: "string", maxLength: 200_000 },
    sentences: { type: "integer", minimum: 1, maximum: 20, default: 3 },
  },
  required: ["text"],
  additionalProperties: false,
});

/**
 * Declares the skills of this example; the handles are typed references to them.
 * @param {import("express-skills").SkillsKit} kit
 */
export function defineSkills(kit) {
  const readme = kit.define({
    name: "readme",
    description: "Reads the README of an installed npm package and cuts it into sections",
    schema: {
      type: "object",
      properties: { package: { type: "string", pattern: packageName, maxLength: 214 } },
      required: ["package"],
    },
    timeoutMs: 5_000,
    handler: async (input) => {
      const { version, markdown } = await readPackage(input.package);
      return { package: input.package, version, sections: cutIntoSections(markdown) };
    },
  });

  kit.define({
    name: "summarise",
    version: "1.0.0",
    description: "The first sentences of a text",
    schema: textInput,
    handler: ({ text, sentences = 3 }) => ({ summary: splitSentences(text).slice(0, sentences), method: "first" }),
  });

  const summarise = kit.define({
    name: "summarise",
    version: "2.0.0",
    description: "The sentences of a text that hold its most frequent words",
    schema: textInput,
    handler: ({ text, sentences = 3 }) => ({ summary: bestSentences(text, sentences), method: "scored" }),
  });

  const keywords = kit.define({
    name: "keywords",
    description: "The most frequent words of a text",
    schema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
    handler: ({ text }) => frequentWords(text, 8),
  });

  const outline = kit.define({
    name: "outline",
    description: "One sentence for each section of a README",
    schema: { type: "object", properties: { package: { type: "string" } }, required: ["package"] },
    // Calls made through the context belong to this one: same caller, same deadline, and each with a row of its own in the audit.
    handler: async (input, context) => {
      const { sections } = await context.run(readme, input);
      const lines = sections.slice(0, 20).map(async ({ title, text }) => {
        const { summary } = await context.run(summarise, { text, sentences: 1 });
        return { title, summary: summary[0] ?? "" };
      });
      return Promise.all(lines);
    },
  });

  return { readme, summarise, keywords, outline };
}

/** @param {string} name */
async function readPackage(name) {
  const folder = new URL(`${name}/`, installed);
  const files = await readdir(folder).catch(() => []);
  const file = files.find((entry) => /^readme(\.md|\.markdown|\.txt)?$/i.test(entry));
  // `expose` says that the text is for the client; without it a client would only learn that the skill failed.
  if (file === undefined)
    throw Object.assign(new Error(`There is no README of a package "${name}" here.`), { status: 404, expose: true });
  const [markdown, manifest] = await Promise.all([
    readFile(new URL(file, folder), "utf8"),
    readFile(new URL("package.json", folder), "utf8"),
  ]);
  return { version: String(JSON.parse(manifest).version), markdown: markdown.slice(0, 200_000) };
}
