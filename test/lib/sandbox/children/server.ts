import { createSandbox } from "../../../../lib/sandbox/sandbox.js";

// A server that is killed: cold runs and slots are alive when it says so.
const [, , , runtime = "", owner = "", image = ""] = process.argv;

const sandbox = createSandbox({ runtime, owner });
const spec = { image, command: ["sh", "-c", "cat; sleep 600"], warm: 2 };
await sandbox.prepare(spec, "system");
const runs = [1, 2].map(() => sandbox.run(image, ["sh", "-c", "echo up; sleep 600"], {}, { timeoutMs: 600_000 }));
void Promise.allSettled(runs);
setInterval(() => {
  if (sandbox.stats().slots.waiting === 2 && sandbox.stats().running === 2) process.stdout.write("alive\n");
}, 100);
