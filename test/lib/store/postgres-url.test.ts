import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parsePostgresUrl } from "../../../lib/store/postgres-url.js";
import { temporaryFolder } from "../../fixtures/temporary-folder.js";

const HOST = "postgres://user@db.example/skills";

test("a URL says where, as whom, and nothing of it but the secrets is in its description", () => {
  const { client, description, poolSize } = parsePostgresUrl(
    "postgresql://us%40er:p%40ss%2Fw@[::1]:6543/my%20skills?application_name=web&options=-csearch_path%3Dapp",
  );
  expect(client).toMatchObject({
    host: "::1",
    port: 6543,
    user: "us@er",
    password: "p@ss/w",
    database: "my skills",
    application_name: "web",
    options: "-csearch_path=app",
    ssl: undefined,
    statement_timeout: 30_000,
    connectionTimeoutMillis: 5_000,
  });
  expect(poolSize).toBe(10);
  expect(description).toBe("postgres://us%40er@[::1]:6543/my skills");
});

test("what is left out is left to the variables that PostgreSQL's own clients read", () => {
  const { client } = parsePostgresUrl("postgres:///");
  for (const key of ["host", "port", "user", "password", "database", "ssl"] as const) expect(client[key]).toBeUndefined();
});

test("host, port, user, password and name may be parameters, as for a socket in a folder", () => {
  const { client, description } = parsePostgresUrl("postgres:///?host=/run/postgresql&user=u&password=s3cret&dbname=d&port=5433");
  expect(client).toMatchObject({ host: "/run/postgresql", user: "u", password: "s3cret", database: "d", port: 5433 });
  expect(description).not.toContain("s3cret");
});

test("pool size, time limits and durability", () => {
  const { client, poolSize } = parsePostgresUrl(`${HOST}?pool_size=3&statement_timeout=1500&connect_timeout=2`, "power");
  expect(poolSize).toBe(3);
  expect(client).toMatchObject({ statement_timeout: 1_500, query_timeout: 6_500, connectionTimeoutMillis: 2_000 });
  expect(client.options).toBe("-c synchronous_commit=on");
  const unlimited = parsePostgresUrl(`${HOST}?statement_timeout=0`).client;
  expect([unlimited.statement_timeout, unlimited.query_timeout]).toEqual([undefined, undefined]);
});

test("sslmode means what it means to PostgreSQL's own clients", () => {
  const tls = (query: string) => parsePostgresUrl(`${HOST}?${query}`).client.ssl;
  const ca = join(temporaryFolder(), "ca.pem");
  writeFileSync(ca, "a certificate");
  expect(tls("sslmode=disable")).toBe(false);
  expect(tls("sslmode=require")).toMatchObject({ rejectUnauthorized: false });
  expect(tls(`sslmode=require&sslrootcert=${ca}`)).toMatchObject({ rejectUnauthorized: true, ca: "a certificate" });
  expect(tls(`sslmode=verify-ca&sslrootcert=${ca}`)).toMatchObject({
    rejectUnauthorized: true,
    checkServerIdentity: expect.any(Function),
  });
  const full = tls("sslmode=verify-full");
  expect(full).toMatchObject({ rejectUnauthorized: true });
  expect(full).not.toHaveProperty("checkServerIdentity");
});

test.each([
  ["postgres://u:s3cret@host:port/x", "cannot be read as a URL"],
  ["postgres://u:s3cret%@host/x", "%25"],
  ["postgres://u:s3cret@host/x?pool_sise=5", 'did you mean "pool_size"'],
  ["postgres://u:s3cret@host/x?pool_size=0", "from 1 to 1000"],
  ["postgres://u:s3cret@host/x?pool_size=1e2", "from 1 to 1000"],
  ["postgres://u:s3cret@host/x?statement_timeout=-1", "from 0 to"],
  ["postgres://u:s3cret@host/x?sslmode=prefer", "verify-full"],
  ["postgres://u:s3cret@host/x?sslmode=verify-full&sslrootcert=/no/such/file", "sslrootcert"],
  ["postgres://u:s3cret@host/x?password=s3cret&password=s3cret", "twice"],
])("%s is refused, and its password is not repeated", (url, text) => {
  const parsing = () => parsePostgresUrl(url);
  expect(parsing).toThrow(expect.objectContaining({ code: "INVALID_OPTION", message: expect.stringContaining(text) }));
  expect(parsing).toThrow(expect.objectContaining({ message: expect.not.stringContaining("s3cret") }));
});
