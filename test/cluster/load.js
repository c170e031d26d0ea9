import { setTimeout as delay } from "node:timers/promises";
import { kinds } from "./kinds.js";

const CLIENTS = 48;
const REQUEST_LIMIT_MS = 90_000;
const ASK_AGAIN_MS = 250;
const ASK_FOR_MS = 90_000;
const SLOW_MS = /** @type {const} */ ([200, 2_000]);

/**
 * @typedef {object} Run one execution that is asked for
 * @property {number} run
 * @property {import("./kinds.js").Kind} kind
 * @property {"enqueue" | "start" | "call"} way what the client asks for: later, by id; now, by id; now, with the answer
 * @property {string | undefined} key its idempotency key: with one, a client may ask again without knowing what became of the first time
 * @property {number} ms how long it takes
 * @property {string | undefined} id once it is accepted
 * @property {string | undefined} answered the final status that the client was told
 * @property {string | undefined} problem why it was not accepted, as far as the client knows
 */

/**
 * @param {number} count
 * @param {import("./random.js").Random} random
 * @param {boolean} hasEngine
 * @returns {Run[]}
 */
export function planRuns(count, random, hasEngine) {
  const possible = kinds.filter(({ needsEngine }) => hasEngine || !needsEngine);
  const lots = possible.flatMap((kind) => Array.from({ length: kind.share }, () => kind));
  return Array.from({ length: count }, (_, run) => ({
    run,
    kind: random.pick(lots),
    way: random.pick(["enqueue", "enqueue", "enqueue", "start", "call"]),
    key: random.next() < 0.5 ? `run ${run}` : undefined,
    ms: Math.round(random.between(...SLOW_MS)),
    id: undefined,
    answered: undefined,
    problem: undefined,
  }));
}

/**
 * Asks for every run, evenly over the time. Resolves when each is accepted, answered, refused, or its fate unknown.
 *
 * @param {readonly Run[]} runs
 * @param {{ urls: () => string[], loadMs: number, random: import("./random.js").Random, onDone: () => void }} options
 */
export async function askForAll(runs, { urls, loadMs, random, onDone }) {
  const startedAt = performance.now();
  let next = 0;
  const client = async () => {
    for (let run = runs[next++]; run !== undefined; run = runs[next++]) {
      const dueInMs = (run.run / runs.length) * loadMs - (performance.now() - startedAt);
      if (dueInMs > 0) await delay(dueInMs);
      await askFor(run, urls, random);
      onDone();
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
}

/**
 * @param {Run} run
 * @param {() => string[]} urls
 * @param {import("./random.js").Random} random
 */
async function askFor(run, urls, random) {
  const untilMs = performance.now() + ASK_FOR_MS;
  for (;;) {
    const available = urls();
    const mayAskAgain = available.length === 0 || (await askOnce(run, random.pick(available)));
    if (!mayAskAgain || performance.now() > untilMs) return;
    await delay(ASK_AGAIN_MS);
  }
}

/**
 * @param {Run} run
 * @param {string} url
 * @returns {Promise<boolean>} whether to ask again
 */
async function askOnce(run, url) {
  const { kind, way, key } = run;
  const prefer = { enqueue: { prefer: "respond-async" }, start: { prefer: "wait=0" }, call: {} }[way];
  /** @type {{ status: number, body: any }} */
  let answer;
  try {
    const response = await fetch(`${url}/skills/${kind.name}/executions`, {
      method: "POST",
      headers: { "content-type": "application/json", ...prefer, ...(key !== undefined && { "idempotency-key": key }) },
      body: JSON.stringify({ run: run.run, ms: run.ms }),
      signal: AbortSignal.timeout(REQUEST_LIMIT_MS),
    });
    answer = { status: response.status, body: await response.json() };
  } catch (error) {
    run.problem = "the connection was cut";
    // Without a key it may have run; if nobody listened, it has not.
    const cause = /** @type {{ code?: string } | undefined} */ (/** @type {Error} */ (error).cause);
    return key !== undefined || cause?.code === "ECONNREFUSED";
  }
  return take(run, answer);
}

/**
 * @param {Run} run
 * @param {{ status: number, body: any }} answer
 * @returns {boolean} whether to ask again
 */
function take(run, { status, body }) {
  if (status < 300) {
    run.id = body.id;
    run.problem = undefined;
    if (body.finishedAt !== null) run.answered = body.status;
    return false;
  }
  run.problem = body.code ?? `status ${status}`;
  // An earlier request had this key, and its execution goes on.
  if (body.code === "IDEMPOTENCY_IN_PROGRESS" && body.executionId !== undefined) {
    run.id = body.executionId;
    run.problem = undefined;
    return false;
  }
  return run.key !== undefined && (status === 503 || body.code === "IDEMPOTENCY_IN_PROGRESS");
}
