import { setTimeout as sleep } from "node:timers/promises";
import type { SkillExecutor } from "../executor/executor.js";
import type { ListExecutionsFilter } from "../executor/history.js";
import type { SkillExecution } from "../types.js";

const EVERY_MS = 400;
/** Rows may come later than their ids say: a server waits up to some seconds for its database. */
const LOOK_BACK_MS = 15_000;
const PAGE = 500;

type Execution = SkillExecution<unknown>;

/** Tells of executions that begin or end, in any process on the database, and first of the newest that are there. Ends with the signal. */
export async function followExecutions(
  executor: SkillExecutor,
  filter: ListExecutionsFilter,
  signal: AbortSignal,
  tell: (execution: Execution) => void,
): Promise<void> {
  const { status, limit, ...others } = filter;
  const isAsked = (execution: Execution) => status === undefined || [status].flat().includes(execution.status);
  const seen = new Seen();
  const show = (executions: readonly Execution[]) => {
    for (const execution of executions) if (seen.isNews(execution) && isAsked(execution)) tell(execution);
  };
  const startedAtMs = Date.now();
  // Looked at first: what begins or ends before the first page is read is told by that page, or as a change to this.
  const old = await recent(executor, others, startedAtMs - LOOK_BACK_MS);
  show((await executor.listExecutions(filter)).reverse());
  // What is not in the first page is old, whatever its status.
  seen.noteUnknown(old);
  while (!signal.aborted) {
    await sleep(EVERY_MS, undefined, { signal }).catch(() => {});
    if (signal.aborted) return;
    const sinceMs = Math.max(startedAtMs, Date.now()) - LOOK_BACK_MS;
    const running = await Promise.all(seen.unfinished(sinceMs).map((id) => executor.getExecution(id)));
    show(running.filter((execution) => execution !== undefined));
    show((await recent(executor, others, sinceMs)).reverse());
    seen.forgetBefore(sinceMs);
  }
}

/** Everything that began after a time, newest first. */
async function recent(executor: SkillExecutor, filter: ListExecutionsFilter, sinceMs: number): Promise<Execution[]> {
  const since = new Date(sinceMs).toISOString();
  const asked = filter.createdAfter !== undefined && filter.createdAfter > since ? filter.createdAfter : since;
  const found: Execution[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await executor.listExecutions({ ...filter, createdAfter: asked, cursor, limit: PAGE });
    found.push(...page);
    if (page.length < PAGE) return found;
    cursor = page.at(-1)?.id;
  }
}

/** What was told already: by id, the last status. Unfinished ones stay until they have ended. */
class Seen {
  readonly #known = new Map<string, { readonly status: string; readonly createdAtMs: number; readonly isFinal: boolean }>();

  /** Whether it is new, or has another status than before. */
  isNews(execution: Execution): boolean {
    if (this.#known.get(execution.id)?.status === execution.status) return false;
    this.#note(execution);
    return true;
  }

  noteUnknown(executions: readonly Execution[]): void {
    for (const execution of executions) if (!this.#known.has(execution.id)) this.#note(execution);
  }

  /** Those that no list of what is recent has any more. */
  unfinished(beforeMs: number): string[] {
    return [...this.#known].filter(([, { isFinal, createdAtMs }]) => !isFinal && createdAtMs < beforeMs).map(([id]) => id);
  }

  forgetBefore(ms: number): void {
    for (const [id, { isFinal, createdAtMs }] of this.#known) if (isFinal && createdAtMs < ms) this.#known.delete(id);
  }

  #note({ id, status, createdAt, finishedAt }: Execution): void {
    this.#known.set(id, { status, createdAtMs: Date.parse(createdAt), isFinal: finishedAt !== null });
  }
}
