import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openStore } from "../../../lib/store/open.js";
import { inspectPostgres } from "../../../lib/store/postgres-inspect.js";
import { type PostgresServer, startPostgres } from "../../postgres/server.js";

const certificate = (name: string) => fileURLToPath(new URL(`../../postgres/tls/${name}`, import.meta.url));
const ca = certificate("ca.pem");

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres({ isEncrypted: true });
});
afterAll(() => server.remove());

/** The server's URL under a host name and with parameters. */
function urlWith(host: "localhost" | "127.0.0.1", parameters: Readonly<Record<string, string>>): string {
  const url = new URL(server.url);
  url.hostname = host;
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return url.href;
}

test.each([
  ["require, whoever answers", "127.0.0.1", { sslmode: "require" }],
  ["require, with a certificate to check", "127.0.0.1", { sslmode: "require", sslrootcert: ca }],
  ["verify-ca, under another name", "127.0.0.1", { sslmode: "verify-ca", sslrootcert: ca }],
  ["verify-full, under the name of the certificate", "localhost", { sslmode: "verify-full", sslrootcert: ca }],
] as const)("encrypts: %s", async (_, host, parameters) => {
  const url = urlWith(host, parameters);
  expect(await inspectPostgres(url)).toMatchObject({ isEncrypted: true });
  const store = await openStore({ database: url, durability: "process" });
  await store.jobs?.prepare();
  await store.close();
});

test("encrypts nothing when it is not asked to", async () => {
  expect(await inspectPostgres(urlWith("127.0.0.1", {}))).toMatchObject({ isEncrypted: false });
  expect(await inspectPostgres(urlWith("127.0.0.1", { sslmode: "disable" }))).toMatchObject({ isEncrypted: false });
});

test.each([
  ["verify-full, under another name", "127.0.0.1", { sslmode: "verify-full", sslrootcert: ca }, /altname|Host|IP/],
  [
    "verify-ca, signed by somebody else",
    "localhost",
    { sslmode: "verify-ca", sslrootcert: certificate("other-ca.pem") },
    /certificate/,
  ],
  ["verify-full, with the authorities that Node knows", "localhost", { sslmode: "verify-full" }, /certificate/],
] as const)("refuses: %s", async (_, host, parameters, message) => {
  const opening = openStore({ database: urlWith(host, parameters), durability: "process" });
  await expect(opening).rejects.toMatchObject({ code: "STORE_INVALID", message: expect.stringMatching(message) });
});
