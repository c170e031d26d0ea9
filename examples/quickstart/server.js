import { once } from "node:events";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import { createApp, whatToTry } from "./app.js";

const database = process.env.SKILLS_DATABASE ?? fileURLToPath(new URL("quickstart.db", import.meta.url));
const { app, kit } = createApp({ database });
// Not needed, since the first call does it: it makes a faulty definition or database known before the server listens.
await kit.ready();

const server = createServer(app).listen(Number(process.env.PORT ?? 3000), "127.0.0.1");
await once(server, "listening");
const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
console.log(`Listening on http://127.0.0.1:${port}\n\n${whatToTry(`http://127.0.0.1:${port}`).join("\n")}`);

// A second signal ends the process at once.
process.once("SIGINT", close);
process.once("SIGTERM", close);

async function close() {
  server.close();
  await kit.close();
  server.closeAllConnections();
}
