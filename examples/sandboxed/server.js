import { once } from "node:events";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import { createApp, whatToTry } from "./app.js";

const database = process.env.SKILLS_DATABASE ?? fileURLToPath(new URL("sandboxed.db", import.meta.url));
const { app, kit } = createApp({ database });
await kit.ready();
const engine = await kit.sandbox.describe().catch((/** @type {Error} */ error) => error);
if (engine instanceof Error) console.warn(`Every program will be refused: ${engine.message}`);
else console.log(`Programs run in containers of ${engine.engine} ${engine.version}.`);

const server = createServer(app).listen(Number(process.env.PORT ?? 3000), "127.0.0.1");
await once(server, "listening");
const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
console.log(`Listening on http://127.0.0.1:${port}\n\n${whatToTry(`http://127.0.0.1:${port}`).join("\n")}`);

// A second signal ends the process at once; what it leaves is removed by the next start.
process.once("SIGINT", close);
process.once("SIGTERM", close);

async function close() {
  server.close();
  await kit.close({ graceMs: 3_000 });
  server.closeAllConnections();
}
