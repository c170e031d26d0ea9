import { setTimeout as sleep } from "node:timers/promises";
import { runCli } from "./cli.js";
import type { Engine } from "./engine-table.js";

/** What ending a container needs to know of it. */
export interface Terminable {
  readonly engine: Engine;
  readonly name: string;
  /** Whether its command line program has ended. */
  hasEnded(): boolean;
  /** Resolves when it has. */
  readonly ended: Promise<unknown>;
  killCommandLine(): void;
}

const killLimitMs = 5000;
const retryMs = 150;
/** A container can take this long to be created; until then it cannot be killed. */
const patienceMs = 15_000;
/** How long the command line program may take to notice that its container is gone. */
const graceMs = 1500;

/**
 * Ends a container by its name: killing the command line program would leave it running. "No such container" means "not yet" while
 * that program lives. Every step has its own limit. Resolves with whether the container may still be there, or may yet come.
 */
export async function terminate(target: Terminable): Promise<{ readonly doubtful: boolean }> {
  const until = performance.now() + patienceMs;
  while (!target.hasEnded() && performance.now() < until) {
    const killed = await kill(target);
    if (target.hasEnded()) break;
    if (killed || (await forceRemove(target))) {
      await Promise.race([target.ended, sleep(graceMs, undefined, { ref: false })]);
      break;
    }
    await Promise.race([target.ended, sleep(retryMs)]);
  }
  const doubtful = !target.hasEnded();
  if (doubtful) target.killCommandLine();
  return { doubtful };
}

async function kill({ engine, name }: Terminable): Promise<boolean> {
  const outcome = await runCli(engine, ["kill", "--signal=KILL", name], killLimitMs);
  return outcome.code === 0;
}

/** For a container that was created and does not run, or has ended behind a command line program that does not notice. */
async function forceRemove({ engine, name }: Terminable): Promise<boolean> {
  const outcome = await runCli(engine, ["rm", "--force", "--volumes", "--", name], killLimitMs);
  return outcome.code === 0 && outcome.stdout.includes(name) && !outcome.stderr.includes(name);
}
