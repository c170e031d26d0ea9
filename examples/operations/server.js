import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import { createApp } from "./app.js";

const database = process.env.SKILLS_DATABASE ?? fileURLToPath(new URL("operations.db", import.meta.url));
// An application has its keys in a secret store; these last as long as the process.
const [adminKey, callerKey] = [newKey(), newKey()];
const image = process.env.OPERATIONS_IMAGE ?? "node:22-alpine";
const { app, kit } = createApp({
  database,
  image,
  keys: { [adminKey]: { apiKeyId: "admin", role: "admin" }, [callerKey]: { apiKeyId: "build-server", role: "caller" } },
});
await kit.ready();

const server = createServer(app).listen(Number(process.env.PORT ?? 3000), "127.0.0.1");
await once(server, "listening");
const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
const url = `http://127.0.0.1:${port}`;
console.log(`Listening on ${url}

The dashboard, with the admin's key in the address:
  ${url}/ops/#token=${adminKey}
A caller that runs a skill, and waits at most five seconds:
  curl ${url}/api/skills/licences/executions -H 'Authorization: Bearer ${callerKey}' -H 'Prefer: wait=5' \\
    -H 'Content-Type: application/json' -d '{"allowed":["MIT"],"pauseMs":20}'
The same caller runs a program in a container of its own, if Docker or Podman answers here and has ${image}:
  curl ${url}/api/skills/checkSource/executions -H 'Authorization: Bearer ${callerKey}' \\
    -H 'Content-Type: application/json' -d '{"source":"let a b;"}'
Metrics for Prometheus:
  curl ${url}/metrics -H 'Authorization: Bearer ${adminKey}'`);

// A second signal ends the process at once.
process.once("SIGINT", close);
process.once("SIGTERM", close);

async function close() {
  server.close();
  await kit.close();
  server.closeAllConnections();
}

function newKey() {
  return randomBytes(24).toString("base64url");
}
