import compression from "compression";
import express from "express";
import { skillErrors, skills, skillsApi, skillsDashboard } from "express-skills";
import helmet from "helmet";
import { Registry } from "prom-client";
import { createAuthorize } from "./keys.js";
import { defineSkills } from "./skills.js";

/** @param {{ database: string, keys: Readonly<Record<string, import("express-skills").ApiIdentity>> }} options */
export function createApp({ database, keys }) {
  const metrics = new Registry();
  const kit = skills({ database, metrics: { registry: metrics } });
  defineSkills(kit);
  const authorize = createAuthorize(keys);

  const app = express();
  app.use(helmet(), compression());
  app.use(kit);
  // For programs: OpenAPI at /api/openapi.json.
  app.use("/api", skillsApi({ authorize }));
  // For people: it brings its own API below /ops/api, so that both can be protected in different ways.
  app.use("/ops", skillsDashboard({ authorize }));
  // Metrics name skills, so they are not for everybody either.
  app.get("/metrics", async (req, res, next) => {
    try {
      if (authorize(req)?.role !== "admin") res.sendStatus(401);
      else res.type(metrics.contentType).send(await metrics.metrics());
    } catch (error) {
      next(error);
    }
  });
  app.use(skillErrors());
  return { app, kit };
}
