// One web process. It enqueues work and shows what becomes of it; workers do it.
import { once } from "node:events";
import { createServer } from "node:http";
import express from "express";
import { enqueue, skillErrors, skills, skillsApi, skillsDashboard } from "express-skills";
import { defineSkills } from "./skills.js";

const kit = skills({ database: process.env.SKILLS_DATABASE, worker: false });
const report = defineSkills(kit);
const key = process.env.CLUSTER_KEY ?? "";

/** @param {import("node:http").IncomingMessage} request */
const authorize = ({ headers }) =>
  key !== "" && headers.authorization === `Bearer ${key}` ? { apiKeyId: "default", role: /** @type {const} */ ("admin") } : null;

const app = express();
app.use(express.json(), kit);
app.post("/reports", enqueue(report));
app.use("/api", skillsApi({ authorize }));
app.use("/ops", skillsDashboard({ authorize }));
app.use(skillErrors());

await kit.ready();
const server = createServer(app).listen(Number(process.env.PORT ?? 0), "127.0.0.1");
await once(server, "listening");
const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
console.log(`http://127.0.0.1:${port}`);

process.once("SIGTERM", async () => {
  server.close();
  await kit.close();
  server.closeAllConnections();
});
