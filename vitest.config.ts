import { configDefaults, defineConfig, type TestProjectInlineConfiguration } from "vitest/config";
import { SkippedReporter } from "./test/skipped-reporter.js";

const onlyOnPostgres = "test/**/postgres*.test.ts";

/**
 * Files of these may share a process: to start one and load all modules takes longer than most of them do. Left out are those that count
 * timers, measure memory, replace modules or change their process.
 */
const ofExecutor = "test/lib/executor/!(container|crash|deadline|instances|shutdown).test.ts";
const ofRegistry = "test/lib/registry/**/!(catalogue|registry|postgres-catalogue).test.ts";
const ofMiddleware = "test/middleware/**/!(disconnect|many-calls|skills).test.ts";
const ofQueue = "test/lib/queue/!(postgres-missing).test.ts";
const ofCommandLine = "test/lib/cli/*.test.ts";

interface Files {
  readonly include: string[];
  readonly exclude: string[];
  /** Those of them that may share a process. */
  readonly sharing: string[];
}

const onSqlite: Files = {
  include: ["test/**/*.test.ts"],
  exclude: [...configDefaults.exclude, onlyOnPostgres],
  sharing: [ofExecutor, ofRegistry, ofMiddleware, ofQueue, ofCommandLine],
};

/** What works on a database does so on this one too. */
const onPostgres: Files = {
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
  sharing: [ofExecutor, ofMiddleware, ofQueue],
};

/** Two projects: `name`, each file in a process of its own, and `name-shared`. */
function projectsOf(name: string, files: Files, settings: TestProjectInlineConfiguration["test"] = {}) {
  const { include, exclude, sharing } = files;
  const common = {
    ...settings,
    // Tests start child processes, open native database handles and measure whether the event loop was blocked.
    pool: "forks",
    testTimeout: 60_000,
    hookTimeout: 60_000,
  } as const;
  return [
    { test: { ...common, name, include, exclude: [...exclude, ...sharing] } },
    { test: { ...common, name: `${name}-shared`, isolate: false, include: sharing, exclude } },
  ];
}

export default defineConfig({
  test: {
    // Much of their time tests wait: for containers, for what a database tells, for limits to pass.
    maxWorkers: 3,
    globalSetup: ["test/engines/global-setup.ts"],
    teardownTimeout: 5_000,
    reporters: ["default", new SkippedReporter()],
    projects: [
      ...projectsOf("sqlite", onSqlite),
      ...projectsOf("postgres", onPostgres, {
        env: { SKILLS_TEST_DATABASE: "postgres" },
        globalSetup: ["test/postgres/global-setup.ts"],
      }),
    ],
  },
});
