import type { TestProject } from "vitest/node";
import { startPostgres } from "./server.js";
import { recordTables } from "./tables.js";

declare module "vitest" {
  interface ProvidedContext {
    /** Of a database in which the tests may make others. */
    postgresUrl: string;
    /** Statements that make the tables in the first schema of the search path. */
    postgresTables: string;
  }
}

/** Starts the server that the tests of this project share, unless SKILLS_TEST_POSTGRES is the URL of another one. */
export async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const given = process.env["SKILLS_TEST_POSTGRES"];
  if (given) {
    project.provide("postgresUrl", given);
    project.provide("postgresTables", await recordTables(given));
    return undefined;
  }
  const server = await startPostgres().catch((cause: unknown) => {
    throw new Error("PostgreSQL could not be started. Run test/setup.sh, or give the URL of a server in SKILLS_TEST_POSTGRES.", {
      cause,
    });
  });
  project.provide("postgresUrl", server.url);
  project.provide("postgresTables", await recordTables(server.url));
  return server.remove;
}
