import express from "express";
import { parallel, respond, skill, skillErrors, skills } from "express-skills";
import { defineSkills } from "./skills.js";

/** @param {import("express-skills").SkillsOptions} options */
export function createApp(options) {
  const kit = skills(options);
  const { readme, summarise, keywords, outline } = defineSkills(kit);

  const app = express();
  app.use(express.json());
  app.use(kit);

  app.get("/", (req, res) => {
    res.type("text/plain").send(`${whatToTry(`http://${req.get("host")}`).join("\n")}\n`);
  });

  // A pipeline: each step's input is made of the results before it. The first one takes `package` from the path.
  app.get(
    "/packages/:package",
    skill(readme),
    skill(summarise, { input: ({ req }) => ({ text: proseOf(req.skills.result(readme)) }) }),
    skill(keywords, { input: ({ req }) => ({ text: proseOf(req.skills.result(readme)) }) }),
    (req, res) => {
      const { package: name, version } = req.skills.result(readme);
      res.json({ package: name, version, ...req.skills.result(summarise), keywords: req.skills.result(keywords) });
    },
  );

  // Two versions of one skill side by side: a range, and a major version.
  app.get(
    "/packages/:package/versions",
    skill(readme),
    parallel(
      skill("summarise@^1", { as: "first", input: ({ req }) => ({ text: proseOf(req.skills.result(readme)), sentences: 1 }) }),
      skill("summarise@2", { as: "scored", input: ({ req }) => ({ text: proseOf(req.skills.result(readme)), sentences: 1 }) }),
    ),
    (req, res) => {
      res.json({ "summarise@^1": req.skills.results.first, "summarise@2": req.skills.results.scored });
    },
  );

  // A skill that calls other skills.
  app.get("/packages/:package/outline", skill(outline), respond());

  // The input is the body, checked against the skill's schema before the skill runs.
  app.post("/summaries", skill("summarise"), respond());

  app.get("/executions", async (_req, res, next) => {
    try {
      const executions = await kit.executor.listExecutions({ limit: 20 });
      res.json(
        executions.map(({ id, parentId, skillName, skillVersion, status, durationMs, errorMessage }) => {
          return { id, parentId, skill: `${skillName}@${skillVersion}`, status, durationMs, errorMessage };
        }),
      );
    } catch (error) {
      next(error);
    }
  });

  app.use(skillErrors());
  return { app, kit };
}

/** @param {string} url */
export function whatToTry(url) {
  return [
    "Summary and keywords of the README of an installed package:",
    `  curl ${url}/packages/express`,
    `  curl ${url}/packages/@standard-schema%2Fspec`,
    "The same text through two versions of one skill:",
    `  curl ${url}/packages/kysely/versions`,
    "A skill that calls other skills, once for each section:",
    `  curl ${url}/packages/semver/outline`,
    "Your own text, and an input that is refused:",
    `  curl ${url}/summaries -H 'Content-Type: application/json' -d '{"text":"Your own text goes here.","sentences":1}'`,
    `  curl ${url}/summaries -H 'Content-Type: application/json' -d '{"sentences":0}'`,
    "Every call so far, the newest first:",
    `  curl ${url}/executions`,
  ];
}

/** @param {{ sections: readonly { text: string }[] }} readme */
function proseOf({ sections }) {
  return sections.map(({ text }) => text).join("\n");
}
