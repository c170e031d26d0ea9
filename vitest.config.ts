import { defineConfig } from "vitest/config";
import { SkippedReporter } from "./test/skipped-reporter.js";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    // Tests start child processes, open native database handles and measure whether the event loop was blocked.
    pool: "forks",
    maxWorkers: 2,
    globalSetup: ["test/engines/global-setup.ts"],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    teardownTimeout: 5_000,
    reporters: ["default", new SkippedReporter()],
  },
});
