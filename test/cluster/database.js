import pg from "pg";
import { startPostgres } from "../postgres/server.js";

/**
 * @typedef {{ fromMs: number, untilMs: number }} Away by the clock of `performance.now()`
 *
 * @typedef {object} ClusterDatabase
 * @property {string} url
 * @property {string} restartIs what `restart` does
 * @property {(awayMs: number) => Promise<void>} restart
 * @property {readonly Away[]} away when it was not there, or cut its connections
 * @property {<Row extends pg.QueryResultRow>(text: string) => Promise<Row[]>} query on a connection of its own
 * @property {() => Promise<void>} remove
 */

/**
 * A PostgreSQL server of the test's own; or a schema on the one that SKILLS_TEST_POSTGRES names.
 *
 * @returns {Promise<ClusterDatabase>}
 */
export async function openDatabase() {
  const given = process.env["SKILLS_TEST_POSTGRES"];
  if (given) return schemaOn(given);
  const server = await startPostgres();
  /** @type {Away[]} */
  const away = [];
  return {
    url: server.url,
    restartIs: "restarts of PostgreSQL",
    away,
    async restart(awayMs) {
      const fromMs = performance.now();
      await server.stop();
      await new Promise((resolve) => setTimeout(resolve, awayMs));
      await server.start();
      away.push({ fromMs, untilMs: performance.now() });
    },
    query: (text) => query(server.url, text),
    remove: server.remove,
  };
}

/**
 * @param {string} given
 * @returns {Promise<ClusterDatabase>}
 */
async function schemaOn(given) {
  const name = `cluster_${process.pid}_${Date.now()}`;
  await query(given, `create schema ${name}`);
  const url = new URL(given);
  url.searchParams.set("options", `-csearch_path=${name}`);
  url.searchParams.set("application_name", name);
  /** @type {Away[]} */
  const away = [];
  return {
    url: url.href,
    restartIs: "cuts of every connection to PostgreSQL, which is not ours to restart",
    away,
    async restart() {
      const fromMs = performance.now();
      await query(given, `select pg_terminate_backend(pid) from pg_stat_activity where application_name = '${name}'`);
      away.push({ fromMs, untilMs: performance.now() });
    },
    query: (text) => query(url.href, text),
    async remove() {
      await query(given, `drop schema ${name} cascade`);
    },
  };
}

/**
 * @template {pg.QueryResultRow} Row
 * @param {string} url
 * @param {string} text
 * @returns {Promise<Row[]>}
 */
async function query(url, text) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}
