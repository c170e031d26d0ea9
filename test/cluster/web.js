// A web process: the REST API over the cluster's database, without a worker.
import { once } from "node:events";
import { createServer } from "node:http";
import express from "express";
import { skillErrors, skills, skillsApi } from "express-skills";
import { defineSkills } from "./skills.js";

const kit = skills({ database: process.env.SKILLS_DATABASE, worker: false });
defineSkills(kit);
const app = express()
  .use(kit)
  .use("/api", skillsApi({ authorize: () => ({ apiKeyId: "cluster", role: "operator" }) }));
app.use(skillErrors());

// One that starts while the database is away opens it with a later call.
await kit.ready().catch((/** @type {Error} */ error) => console.error(error.message));
const server = createServer(app).listen(0, "127.0.0.1");
await once(server, "listening");
const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
process.stdout.write(`http://127.0.0.1:${port}/api\n`);

process.once("SIGTERM", async () => {
  server.close();
  await kit.close();
  server.closeAllConnections();
});
