import type { FeedWatcher, SkillExecution } from "../../../lib/index.js";
import type { TestKit } from "../../fixtures/kit.js";

/** What a kit tells of all executions until the test ends. */
export async function follow(kit: TestKit) {
  const told: SkillExecution<unknown>[] = [];
  const numbers: number[] = [];
  const missed: number[] = [];
  const watcher: FeedWatcher = {
    onStatus({ number, value }) {
      numbers.push(number);
      told.push(value);
    },
    onMissed: (changes) => missed.push(changes),
    onClose: () => {},
  };
  const stop = await kit.executor.followExecutions(watcher);
  const statusesOf = (id: string) => told.filter((execution) => execution.id === id).map(({ status }) => status);
  return { told, numbers, missed, stop, statusesOf };
}

/** Longer than from one look at the database to the next. */
export const aLook = () => new Promise((resolve) => setTimeout(resolve, 1_300));
