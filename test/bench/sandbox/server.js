// The server under measurement: one route whose skill is a container that waits for its input.
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import express from "express";
import { skill, skillErrors, skills } from "express-skills";
import { shellImage } from "./raw-command.js";

const [runtime, database] = process.argv.slice(2);
const warm = 2;
const kit = skills({ database, sandbox: { runtime, owner: `bench route ${process.pid}` } });
const echo = kit.define({
  name: "echo",
  schema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  container: { image: shellImage, command: ["sh", "-c", 'read -r line; echo "$line"'], reply: "line", warm },
});
const app = express().use(express.json()).use(kit);
let hits = 0;
app.post("/", skill(echo), (req, res) => {
  const now = kit.sandbox.stats()?.slots.hits ?? 0;
  res.set("served-from", now > hits ? "warm" : "cold").json(req.skills.result(echo));
  hits = now;
});
app.get("/settled", async (_req, res) => {
  const isSettled = () => {
    const stats = kit.sandbox.stats();
    return stats !== undefined && stats.slots.waiting === warm && stats.slots.starting === 0 && stats.removing === 0;
  };
  while (!isSettled()) await delay(10);
  res.end();
});
app.use(skillErrors());
await kit.ready();

const server = app.listen(0, "127.0.0.1");
await once(server, "listening");
const address = server.address();
process.send?.(typeof address === "object" ? address?.port : undefined);
process.once("disconnect", async () => {
  server.close();
  await kit.close({ graceMs: 0 });
  process.exit();
});
