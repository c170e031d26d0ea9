import { createSkills } from "../../../../lib/index.js";

// Starts a call that never ends, says so, and waits to be killed.
const database = process.argv[2] ?? "";
const kit = createSkills({ database });
kit.define({
  name: "endless",
  schema: { type: "object" },
  handler: async (_, { executionId }) => {
    while ((await kit.executor.getExecution(executionId)) === undefined) await new Promise((resolve) => setTimeout(resolve, 5));
    process.stdout.write(executionId);
    return new Promise(() => setTimeout(() => {}, 60_000));
  },
});
await kit.executor.execute("endless", { n: 1 }, { timeoutMs: 60_000 });
