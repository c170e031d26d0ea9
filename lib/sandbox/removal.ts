import { setTimeout as sleep } from "node:timers/promises";
import { runCli } from "./cli.js";
import type { Engine } from "./engine-table.js";

export interface Removal {
  /**
   * Removes a container soon, in the background. `doubtful`: it may not exist yet, because its creation was cut off in the middle; the
   * removal is then repeated.
   */
  remove(engine: Engine, name: string, doubtful: boolean): void;
  /** Resolves when nothing is left to remove. */
  settled(): Promise<void>;
  readonly waiting: number;
}

interface Entry {
  readonly engine: Engine;
  readonly name: string;
  attempts: number;
  notBefore: number;
  doubtful: boolean;
}

const batchSize = 32;
/** One command a run costs 10-20 % of the rate: names are gathered for this long. */
const gatherMs = 300;
const removeLimitMs = 20_000;
const maxAttempts = 6;
const retryDelaysMs = [250, 1000, 3000, 8000, 15_000];

/** What cannot be removed after several attempts is left to the reaper. */
export function createRemoval(): Removal {
  const entries = new Map<string, Entry>();
  let working: Promise<void> | null = null;
  let hurried = false;

  const work = async () => {
    while (entries.size > 0) {
      const now = performance.now();
      const due = [...entries.values()].filter((entry) => entry.notBefore <= now);
      const first = due[0];
      if (first === undefined) {
        const next = Math.min(...[...entries.values()].map((entry) => entry.notBefore));
        await sleep(Math.max(10, next - now));
        continue;
      }
      if (due.length < batchSize && !hurried) await sleep(gatherMs);
      const batch = [...entries.values()]
        .filter((entry) => entry.notBefore <= performance.now() && entry.engine === first.engine)
        .slice(0, batchSize);
      await removeBatch(first.engine, batch);
      for (const entry of batch) if (isDone(entry)) entries.delete(entry.name);
    }
    working = null;
    hurried = false;
  };

  return {
    remove(engine, name, doubtful) {
      const known = entries.get(name);
      if (known === undefined) entries.set(name, { engine, name, attempts: 0, notBefore: 0, doubtful });
      else known.doubtful ||= doubtful;
      working ??= work();
    },
    async settled() {
      hurried = true;
      while (working !== null) await working;
    },
    get waiting() {
      return entries.size;
    },
  };
}

/** Stands for the number of attempts when there is nothing left to remove. */
const gone = -1;

function isDone(entry: Entry): boolean {
  return entry.attempts === gone || entry.attempts >= maxAttempts;
}

async function removeBatch(engine: Engine, batch: readonly Entry[]): Promise<void> {
  const outcome = await runCli(engine, ["rm", "--force", "--volumes", "--", ...batch.map((entry) => entry.name)], removeLimitMs);
  const failed = outcome.timedOut || outcome.startError !== null;
  for (const entry of batch) {
    const lines = outcome.stderr.split("\n").filter((line) => line.includes(entry.name));
    const missing = lines.some((line) => /no such container|not found|no container with/i.test(line));
    // Several engines answer 0 for a container that is not there, so the text decides as well.
    const removed = !failed && lines.length === 0 && (outcome.code === 0 || outcome.stdout.includes(entry.name));
    // A doubtful one that was not there may still come.
    if (removed || (missing && !entry.doubtful)) entry.attempts = gone;
    else entry.attempts += 1;
    if (entry.attempts !== gone) entry.notBefore = performance.now() + (retryDelaysMs[entry.attempts - 1] ?? 0);
  }
}
