import compression from "compression";
import express from "express";
import { skillErrors, skills, skillsApi, skillsDashboard } from "express-skills";
import helmet from "helmet";
import { Registry } from "prom-client";
import { createAuthorize } from "./keys.js";
import { defineSkills } from "./skills.js";

/**
 * @param {object} options
 * @param {string} options.database
 * @param {Readonly<Record<string, import("express-skills").ApiIdentity>>} options.keys
 * @param {string} options.image what the container skill runs in: any image with Node 20 or later
 */
export function createApp({ database, keys, image }) {
  const metrics = new Registry();
  // Definitions that come over the API may name this image, and no other.
  const kit = skills({ database, metrics: { registry: metrics }, sandbox: { images: [image] } });
  defineSkills(kit, image);
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
