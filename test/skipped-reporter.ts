import type { Reporter, TestModule } from "vitest/node";

/** Ends a run with the list of what was not tested, and why: a skipped test must never look like a passed one. */
export class SkippedReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const lines = modules.flatMap(skippedTests);
    if (lines.length > 0) {
      process.stdout.write(`Skipped (${lines.length}):\n${lines.join("\n")}\n`);
    }
  }
}

function skippedTests(module: TestModule): string[] {
  return [...module.children.allTests("skipped")].map((test) => {
    const result = test.result();
    const reason = (result.state === "skipped" && result.note) || "no reason given: call context.skip(reason)";
    return `  ${module.relativeModuleId}: ${test.fullName} (${reason})`;
  });
}
