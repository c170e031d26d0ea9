import express from "express";
import { skillErrors, skills } from "express-skills";
import { defineSkills } from "./skills.js";

/**
 * @param {import("express-skills").SkillsOptions} options
 * @param {{ node: string, python: string | undefined }} images
 */
export function createApp(options, images = imagesOf(process.env)) {
  const allowed = [images.node, images.python].filter((image) => image !== undefined);
  const kit = skills({ ...options, sandbox: { images: allowed, ...options.sandbox } });
  const { javascript, python } = defineSkills(kit, images);

  const app = express();
  app.use(express.json({ limit: "200kb" }));
  app.use(kit);

  app.get("/", (req, res) => {
    res.type("text/plain").send(`${whatToTry(`http://${req.get("host")}${req.baseUrl}`).join("\n")}\n`);
  });

  app.post("/javascript", run(javascript));
  if (python !== undefined) app.post("/python", run(python));

  app.get("/executions", async (_req, res, next) => {
    try {
      const executions = await kit.executor.listExecutions({ limit: 20 });
      res.json(
        executions.map(({ id, skillName, status, durationMs, errorMessage, sandbox }) => {
          return { id, skill: skillName, status, durationMs, errorMessage, sandbox };
        }),
      );
    } catch (error) {
      next(error);
    }
  });

  app.use(skillErrors());
  return { app, kit };
}

/**
 * Images from SANDBOXED_NODE_IMAGE and SANDBOXED_PYTHON_IMAGE; without the latter only JavaScript is run.
 * @param {NodeJS.ProcessEnv} environment
 */
export function imagesOf(environment) {
  return { node: environment.SANDBOXED_NODE_IMAGE ?? "node:22-alpine", python: environment.SANDBOXED_PYTHON_IMAGE };
}

/**
 * Runs what a client posted. It is the client's own program, so the client learns how it ended; `respond()` would hide that.
 * @param {import("express-skills").SkillHandle<any, any>} handle
 * @returns {import("express").RequestHandler}
 */
function run(handle) {
  return async (req, res, next) => {
    try {
      const execution = await req.skills.execute(handle, req.body);
      const { servedFrom, oomKilled } = execution.sandbox ?? {};
      if (execution.status === "SUCCESS") {
        res.status(execution.output.error === undefined ? 200 : 422).json({ ...execution.output, servedFrom });
      } else if (execution.status === "TIMEOUT") {
        res.status(422).json({ error: "The program did not end within 3 seconds.", servedFrom });
      } else if (oomKilled) {
        res.status(422).json({ error: "The program used more than 128 MiB of memory.", servedFrom });
      } else if (execution.errorCode === "SKILL_FAILED" || execution.errorCode === "INVALID_OUTPUT") {
        res.status(422).json({ error: "The program ended without an answer, or with more than 256 KiB.", servedFrom });
      } else {
        res.status(503).json({ error: "Programs cannot be run at the moment.", code: execution.errorCode });
      }
    } catch (error) {
      next(error);
    }
  };
}

/** @param {string} url */
export function whatToTry(url) {
  /** @param {string} source */
  const post = (source, input = "null") =>
    `  curl ${url}/javascript -H 'Content-Type: application/json' -d '{"source":"export default ${source}","input":${input}}'`;
  return [
    "A program and its input; the second call finds a container that waits for it:",
    post("(input) => input.map((n) => n * n)", "[1,2,3]"),
    post("() => Object.keys(process.env)"),
    "An endless loop, a program that takes all memory, one that starts others without end, and one that calls home:",
    post("() => { for (;;); }"),
    post("() => { const all = []; for (;;) all.push(Buffer.alloc(1e7, 1)); }"),
    post(
      'async () => { const { spawn } = await import(\\"node:child_process\\"); for (;;) spawn(\\"node\\").on(\\"error\\", () => {}); }',
    ),
    post('() => fetch(\\"http://1.1.1.1\\")'),
    "How each of them ended, and in which container:",
    `  curl ${url}/executions`,
  ];
}
