import { configDefaults, defineConfig } from "vitest/config";
import { SkippedReporter } from "./test/skipped-reporter.js";

const shared = {
  // Tests start child processes, open native database handles and measure whether the event loop was blocked.
  pool: "forks",
  testTimeout: 60_000,
  hookTimeout: 60_000,
} as const;
const onlyOnPostgres = "test/**/postgres*.test.ts";

export default defineConfig({
  test: {
    // Much of their time tests wait: for containers, for what a database tells, for limits to pass.
    maxWorkers: 3,
    globalSetup: ["test/engines/global-setup.ts"],
    teardownTimeout: 5_000,
    reporters: ["default", new SkippedReporter()],
    projects: [
      {
        test: {
          ...shared,
          name: "sqlite",
          include: ["test/**/*.test.ts"],
          exclude: [...configDefaults.exclude, onlyOnPostgres],
        },
      },
      {
        // What works on a database does so on this one too.
        test: {
          ...shared,
          name: "postgres",
          env: { SKILLS_TEST_DATABASE: "postgres" },
          globalSetup: ["test/postgres/global-setup.ts"],
          include: [
            onlyOnPostgres,
            "test/lib/*.test.ts",
            "test/lib/store/processes.test.ts",
            "test/lib/registry/registry.test.ts",
            "test/lib/executor/*.test.ts",
            "test/lib/queue/*.test.ts",
            "test/middleware/**/*.test.ts",
          ],
          exclude: [
            ...configDefaults.exclude,
            "test/lib/{options,seed}.test.ts",
            "test/**/container*.test.ts",
            // A page in a browser sees answers of the API, which is tested here.
            "test/middleware/dashboard/*.test.ts",
            // A thousand readers that are slow or gone are a matter of sockets.
            "test/middleware/api/streams.test.ts",
            "test/lib/executor/{ids,json,redact}.test.ts",
          ],
        },
      },
    ],
  },
});
