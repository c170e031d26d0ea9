// What `npm start` runs: the quickstart, and under /sandboxed the example with containers when a container engine answers.
import { once } from "node:events";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import express from "express";
import * as quickstart from "./quickstart/app.js";
import * as sandboxed from "./sandboxed/app.js";

const database = process.env.SKILLS_DATABASE ?? fileURLToPath(new URL("quickstart/quickstart.db", import.meta.url));
const main = quickstart.createApp({ database });
const containers = sandboxed.createApp({ database: ":memory:" });
await main.kit.ready();
const engine = await containers.kit.sandbox.describe().catch((/** @type {Error} */ error) => error);

const app = express();
if (!(engine instanceof Error)) app.use("/sandboxed", containers.app);
app.use(main.app);

const server = createServer(app).listen(Number(process.env.PORT ?? 3000), "127.0.0.1");
await once(server, "listening");
const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
const url = `http://127.0.0.1:${port}`;
console.log(`Listening on ${url}\n\n${quickstart.whatToTry(url).join("\n")}`);
if (engine instanceof Error) console.log(`\nPrograms in containers are left out. ${engine.message}`);
else
  console.log(
    `\nPrograms in containers (${engine.engine} ${engine.version}):\n${sandboxed.whatToTry(`${url}/sandboxed`).join("\n")}`,
  );

// A second signal ends the process at once.
process.once("SIGINT", close);
process.once("SIGTERM", close);

async function close() {
  server.close();
  await Promise.all([main.kit.close(), containers.kit.close({ graceMs: 3_000 })]);
  server.closeAllConnections();
}
