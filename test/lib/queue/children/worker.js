import { appendFileSync } from "node:fs";
import { createSkills } from "../../../../dist/lib/index.js";

// A worker of its own process, as built: argv has the database, a file for what it does, and how much it does at once.
const [, , database = "", effects = "", concurrency = "10"] = process.argv;
const logger = { debug() {}, info() {}, warn() {}, error: console.error };
const kit = createSkills({ database, worker: false, logger });
/** @param {string} text */
const note = (text) => appendFileSync(effects, `${process.pid} ${text}\n`);

kit.define({
  name: "count",
  schema: { type: "object" },
  handler: async ({ n }, context) => {
    note(`count ${n}`);
    context.progress(0.5, "half");
    await new Promise((resolve) => setTimeout(resolve, Number(process.env["COUNT_MS"] ?? Number(n) % 3)));
    return n;
  },
});
for (const name of ["hang", "hang-idempotent"]) {
  kit.define({
    name,
    idempotent: name === "hang-idempotent",
    schema: { type: "object" },
    timeoutMs: 600_000,
    handler: async ({ until }, context) => {
      note(`${name} ${context.executionId}`);
      context.log("begun", { until });
      context.progress(0.25, "a quarter");
      // Ends at once in another process than the first one.
      if (process.env["HANGS"] !== "1") return "done";
      await new Promise((resolve) => context.signal.addEventListener("abort", resolve));
      note(`ended ${context.signal.reason.code}`);
      throw context.signal.reason;
    },
  });
}
kit.define({
  name: "deadly",
  idempotent: true,
  schema: { type: "object" },
  handler: () => {
    note("deadly");
    process.kill(process.pid, "SIGKILL");
  },
});
await kit.ready();
const worker = kit.startWorker({ concurrency: Number(concurrency) });
process.on("SIGTERM", async () => {
  await worker.stop({ graceMs: Number(process.env["GRACE_MS"] ?? 5_000) });
  await kit.close();
});
process.stdout.write("ready\n");
