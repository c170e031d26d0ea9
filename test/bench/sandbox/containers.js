// Containers through the sandbox against the engine's own command with the same flags, on every engine that answers.
import { createSandbox } from "../../../dist/lib/sandbox/sandbox.js";
import { interleave, isQuick, report, row } from "../rounds.js";
import { engineEnvironment, rawRun, shellImage } from "./raw-command.js";

/** @typedef {import("../rounds.js").Row} Row */

const runsPerRound = isQuick ? 2 : 12;
const rounds = isQuick ? 2 : 5;

/** @type {Row[]} */
const rows = [];
for (const engine of ["podman", "docker"]) {
  const environment = engineEnvironment(engine);
  if (environment !== null) rows.push(...(await measure(engine, environment)));
}
report(rows);

/**
 * @param {string} engine
 * @param {NodeJS.ProcessEnv} environment
 * @returns {Promise<Row[]>}
 */
async function measure(engine, environment) {
  const sandbox = createSandbox({ runtime: engine, environment, owner: `bench ${process.pid}` });
  const raw = await rawRun(engine, environment);
  await sandbox.run(shellImage, ["true"]);
  await raw(["true"]);
  const cold = await interleave(
    rounds,
    async () => {
      const ms = await millisecondsEach(() => sandbox.run(shellImage, ["true"]));
      // What is still to be removed must not slow down the other side.
      await sandbox.settled();
      return ms;
    },
    () => millisecondsEach(() => raw(["true"])),
  );
  const parallel = await interleave(
    rounds,
    async () => {
      const rate = await runsPerSecond(() => sandbox.run(shellImage, ["true"]));
      await sandbox.settled();
      return rate;
    },
    () => runsPerSecond(() => raw(["true"])),
  );
  const spec = {
    image: shellImage,
    command: ["sh", "-c", 'read -r line; echo "$line"'],
    reply: /** @type {const} */ ("line"),
    warm: 2,
  };
  /** @type {number[]} */
  const calls = [];
  const warm = await interleave(
    rounds,
    async () => {
      const before = calls.length;
      for (let run = 0; run < runsPerRound; run++) calls.push(await warmCall(sandbox, spec));
      return calls.slice(before).reduce((sum, ms) => sum + ms, 0) / runsPerRound;
    },
    () => millisecondsEach(() => raw(["true"])),
  );
  calls.sort((a, b) => a - b);
  const quantile = (/** @type {number} */ part) => (calls[Math.floor(part * (calls.length - 1))] ?? Number.NaN).toFixed(1);
  const warmRow = row(`${engine}: warm call / engine's command`, warm, "ms", { kind: "at most", ratio: 0.05 });
  const grownMb = await memoryWhilePrinting(sandbox);
  await sandbox.close();
  return [
    row(`${engine}: cold run / engine's command`, cold, "ms", { kind: "at most", ratio: 1.05 }),
    row(`${engine}: cold runs a second, 4 at a time / engine's command`, parallel, "runs/s"),
    { ...warmRow, details: `${warmRow.details}; p50 ${quantile(0.5)} ms, p95 ${quantile(0.95)} ms of ${calls.length} calls` },
    {
      what: `${engine}: memory while a container prints 1 GB / 32 MiB`,
      ratios: [grownMb / 32],
      median: grownMb / 32,
      bar: { kind: "at most", ratio: 1 },
      details: `${grownMb.toFixed(1)} MiB more`,
    },
  ];
}

/**
 * Waits for a slot first: what is measured is a call that finds one.
 * @param {import("../../../dist/lib/sandbox/sandbox.js").Sandbox} sandbox
 * @param {import("../../../dist/lib/types.js").ContainerSpec} spec
 */
async function warmCall(sandbox, spec) {
  await sandbox.prepare(spec, "system");
  while (sandbox.stats().slots.waiting < 2) await new Promise((resolve) => setTimeout(resolve, 20));
  await sandbox.settled();
  const begun = performance.now();
  const reply = await sandbox.serve(spec, { text: "hello" }, { owner: "system", timeoutMs: 10_000 });
  const took = performance.now() - begun;
  if (reply.error !== null || reply.result.servedFrom !== "warm") throw new Error(`Not a warm answer: ${JSON.stringify(reply)}`);
  return took;
}

/** @param {() => Promise<unknown>} work */
async function millisecondsEach(work) {
  const begun = performance.now();
  for (let run = 0; run < runsPerRound; run++) await work();
  return (performance.now() - begun) / runsPerRound;
}

/** @param {() => Promise<unknown>} work */
async function runsPerSecond(work) {
  const begun = performance.now();
  let left = runsPerRound * 2;
  const lane = async () => {
    while (left-- > 0) await work();
  };
  await Promise.all([lane(), lane(), lane(), lane()]);
  return (runsPerRound * 2 * 1000) / (performance.now() - begun);
}

/** @param {import("../../../dist/lib/sandbox/sandbox.js").Sandbox} sandbox */
async function memoryWhilePrinting(sandbox) {
  const before = process.memoryUsage.rss();
  let highest = before;
  const timer = setInterval(() => {
    highest = Math.max(highest, process.memoryUsage.rss());
  }, 5);
  await sandbox.run(shellImage, ["sh", "-c", "head -c 1000000000 /dev/zero"]);
  clearInterval(timer);
  return (highest - before) / 1024 / 1024;
}
