import pg from "pg";
import { expect, inject, onTestFinished, test, vi } from "vitest";
import type { TestProject } from "vitest/node";
import { openPostgres } from "../../lib/store/postgres.js";
import { readRevision } from "../../lib/store/skills.js";
import { setup } from "./global-setup.js";

test("with SKILLS_TEST_POSTGRES the tests start no server, and get the tables of that database", async () => {
  const client = new pg.Client({ connectionString: inject("postgresUrl") });
  await client.connect();
  const name = `given_${process.pid}`;
  await client.query(`create database ${name}`);
  onTestFinished(async () => {
    await client.query(`drop database ${name} with (force)`);
    await client.end();
  });
  const given = Object.assign(new URL(inject("postgresUrl")), { pathname: `/${name}` }).href;
  vi.stubEnv("SKILLS_TEST_POSTGRES", given);
  onTestFinished(() => void vi.unstubAllEnvs());

  const provided: Record<string, string> = {};
  const provide = (key: string, value: string) => {
    provided[key] = value;
  };
  expect(await setup({ provide } as unknown as TestProject)).toBeUndefined();
  expect(provided).toEqual({ postgresUrl: given, postgresTables: expect.stringContaining("create table") });

  const theirs = new pg.Client({ connectionString: given });
  await theirs.connect();
  await theirs.query(provided["postgresTables"] ?? "");
  const tables = async () => (await theirs.query("select 1 from pg_tables where schemaname = 'public'")).rowCount;
  const made = await tables();
  const store = await openPostgres({ database: given, durability: "process" });
  expect(await store.read(readRevision())).toBe(0);
  expect(await tables()).toBe(made);
  await store.close();
  await theirs.end();
});
