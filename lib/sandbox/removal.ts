import { setTimeout as sleep } from "node:timers/promises";
import { type CliOutcome, runCli } from "./cli.js";
import type { Engine } from "./engine-table.js";

export interface Removal {
  /**
   * Removes a container soon, in the background. `doubtful`: it may not exist yet, because its creation was cut off in the middle; the
   * removal is then repeated.
   */
  remove(engine: Engine, name: string, doubtful: boolean): void;
  /** Whether it is still to be removed. */
  has(name: string): boolean;
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
/** One command a run costs 10-20 % of the rate: names are gathered for this long. Measured for podman's cold run: 0.3 s 1.11, 2 s 1.04 times raw. */
const gatherMs = 2000;
const removeLimitMs = 20_000;
const maxAttempts = 6;
const retryDelaysMs = [250, 1000, 3000, 8000, 15_000];

/** What cannot be removed after several attempts is left to the reaper. */
export function createRemoval(): Removal {
  const entries = new Map<string, Entry>();
  let working: Promise<void> | null = null;
  let hurry = new AbortController();

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
      if (due.length < batchSize) await sleep(gatherMs, undefined, { signal: hurry.signal }).catch(() => {});
      const batch = nextBatch([...entries.values()]);
      await removeBatch(batch[0]?.engine ?? first.engine, batch);
      for (const entry of batch) if (isDone(entry)) entries.delete(entry.name);
    }
    working = null;
    hurry = new AbortController();
  };

  return {
    remove(engine, name, doubtful) {
      const known = entries.get(name);
      if (known === undefined) entries.set(name, { engine, name, attempts: 0, notBefore: 0, doubtful });
      else known.doubtful ||= doubtful;
      working ??= work();
    },
    has: (name) => entries.has(name),
    async settled() {
      hurry.abort();
      while (working !== null) await working;
    },
    get waiting() {
      return entries.size;
    },
  };
}

/** Those that were not removed with others are tried alone. */
function nextBatch(entries: readonly Entry[]): readonly Entry[] {
  const due = entries.filter((entry) => entry.notBefore <= performance.now());
  const tried = due.find((entry) => entry.attempts > 0);
  if (tried !== undefined) return [tried];
  return due.filter((entry) => entry.engine === due[0]?.engine).slice(0, batchSize);
}

/** Stands for the number of attempts when there is nothing left to remove. */
const gone = -1;

function isDone(entry: Entry): boolean {
  return entry.attempts === gone || entry.attempts >= maxAttempts;
}

async function removeBatch(engine: Engine, batch: readonly Entry[]): Promise<void> {
  const outcome = await runCli(engine, ["rm", "--force", "--volumes", "--", ...batch.map((entry) => entry.name)], removeLimitMs);
  // Only a name that was printed is removed for sure: podman stops without a word, and with exit code 0, at the first one that is missing.
  const printed = new Set(outcome.stdout.split("\n").map((line) => line.trim()));
  for (const entry of batch) {
    const isMissing = isNotThere(entry, outcome, batch.length === 1);
    // A doubtful one that was not there may still come.
    if (printed.has(entry.name) || (isMissing && !entry.doubtful)) {
      entry.attempts = gone;
      continue;
    }
    entry.attempts += 1;
    entry.notBefore = performance.now() + (isSilent(outcome) ? 0 : (retryDelaysMs[entry.attempts - 1] ?? 0));
  }
}

/** Nothing went wrong by its own account: those that are left can be tried alone at once. */
function isSilent(outcome: CliOutcome): boolean {
  return outcome.code === 0 && outcome.stderr === "";
}

function isNotThere(entry: Entry, outcome: CliOutcome, isAlone: boolean): boolean {
  const lines = outcome.stderr.split("\n").filter((line) => line.includes(entry.name));
  return (
    lines.some((line) => /no such container|not found|no container with/i.test(line)) ||
    (isAlone && outcome.code === 0 && lines.length === 0)
  );
}
