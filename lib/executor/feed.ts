import { LRUCache } from "lru-cache";
import { SkillError } from "../errors.js";
import { type ExecutionState, listByIds, listRecentStates } from "../store/recent-executions.js";
import type { Store } from "../store/store.js";
import type { Logger, SkillExecution } from "../types.js";
import type { ExecutionEvents, StatusChange } from "./events.js";
import { fromRow } from "./record.js";

/** Told what happens to the executions of every process on the database. Must not throw. */
export interface FeedWatcher {
  /** An execution changed its status; those of other processes are told without input, output and log. */
  onStatus(change: StatusChange): void;
  /** At least so many changes are not told: there were too many. */
  onMissed(changes: number): void;
  /** Nothing follows: the kit is closed. */
  onClose(): void;
}

const POLL_MS = 1_000;
/** Changes of other processes that are told after one look. */
const MAX_TOLD = 250;
/** Rows have the times of the clocks of those who wrote them. Processes on one file share a clock. */
const MAX_CLOCK_SKEW_MS: Readonly<Record<Store["kind"], number>> = { sqlite: 0, postgres: 30_000 };
/** How long after its end the row of a call may be committed: its database may have been busy, or away. */
const MAX_LATENESS_MS = 10_000;

/**
 * Follows all executions while somebody wants to know: those of this process as they happen, the others by one look at the database every
 * second, however many watch.
 */
export class ExecutionFeed {
  readonly #events: ExecutionEvents;
  readonly #isRunning: (executionId: string) => boolean;
  readonly #logger: Logger;
  readonly #watchers = new Set<FeedWatcher>();
  #looks: Looks | undefined;

  /** `isRunning` tells whether an execution runs in this process. */
  constructor(events: ExecutionEvents, isRunning: (executionId: string) => boolean, logger: Logger) {
    this.#events = events;
    this.#isRunning = isRunning;
    this.#logger = logger;
  }

  /** Resolves when whatever happens from then on is told; to what ends that. */
  async follow(store: Store, watcher: FeedWatcher): Promise<() => void> {
    const stop = () => {
      this.#watchers.delete(watcher);
      if (this.#watchers.size > 0) return;
      this.#looks?.stop();
      this.#looks = undefined;
    };
    this.#watchers.add(watcher);
    this.#looks ??= new Looks(store, this.#events, this.#isRunning, this.#logger, this.#watchers);
    try {
      await this.#looks.begun;
      return stop;
    } catch (error) {
      stop();
      throw error;
    }
  }
}

/** @throws INVALID_OPTION */
export function checkWatcher(watcher: FeedWatcher): void {
  for (const name of ["onStatus", "onMissed", "onClose"] as const)
    if (typeof Object(watcher)[name] !== "function")
      throw new SkillError("INVALID_OPTION", `followExecutions() needs a watcher whose ${name} is a function.`);
}

type Known = Pick<SkillExecution<unknown>, "status" | "finishedAt">;

/** The looks at the database from the first watcher's coming to the last one's leaving. */
class Looks {
  readonly #store: Store;
  readonly #events: ExecutionEvents;
  readonly #isRunning: (executionId: string) => boolean;
  readonly #logger: Logger;
  readonly #watchers: ReadonlySet<FeedWatcher>;
  readonly #overlapMs: number;
  /** Of each kind that a look reads: what may be told in the time that it goes back. */
  readonly #limit: number;
  /** What was told, or was so before anybody watched; with room for more than one look reads, so that nothing is told twice. */
  readonly #known: LRUCache<string, Known>;
  readonly #unwatch: () => void;
  /** Executions that ran when it looked last. */
  #running: ReadonlySet<string> = new Set();
  #lookedAtMs = Number.POSITIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;
  /** Resolves when it knows what there was before. */
  readonly begun: Promise<void>;

  constructor(
    store: Store,
    events: ExecutionEvents,
    isRunning: (executionId: string) => boolean,
    logger: Logger,
    watchers: ReadonlySet<FeedWatcher>,
  ) {
    this.#store = store;
    this.#events = events;
    this.#isRunning = isRunning;
    this.#logger = logger;
    this.#watchers = watchers;
    this.#overlapMs = MAX_CLOCK_SKEW_MS[store.kind] + MAX_LATENESS_MS;
    this.#limit = (MAX_TOLD * this.#overlapMs) / POLL_MS;
    this.#known = new LRUCache({ max: 4 * this.#limit });
    this.#unwatch = events.watchAll({
      onStatus: (change) => this.#tellOwn(change),
      onClose: () => {
        this.stop();
        for (const watcher of [...watchers]) watcher.onClose();
      },
    });
    this.begun = this.#begin();
  }

  stop(): void {
    this.#isOver = true;
    this.#unwatch();
    clearTimeout(this.#timer);
  }

  async #begin(): Promise<void> {
    for (const state of (await this.#read()).flat()) {
      // What happens here is known already, and newer than what was read.
      if (!this.#known.has(state.id)) this.#known.set(state.id, toKnown(state));
    }
    this.#schedule();
  }

  #schedule(): void {
    if (!this.#isOver) this.#timer = setTimeout(() => void this.#look(), POLL_MS).unref();
  }

  /** Never rejects: after a look that failed the next one goes back further. */
  async #look(): Promise<void> {
    try {
      const before = this.#running;
      const pages = await this.#read();
      const news = new Map<string, Known | undefined>();
      for (const state of pages.flat()) if (this.#isNews(state)) news.set(state.id, toKnown(state));
      // What ran and is not among them any more was put back into the queue, or its end has an older time, or it is just old.
      for (const id of before)
        if (!this.#running.has(id) && !news.has(id) && this.#known.get(id)?.finishedAt === null) news.set(id, undefined);
      await this.#tell(
        news,
        pages.some((page) => this.#goesOn(page)),
      );
    } catch (error) {
      this.#logger.debug({ err: error }, "the executions of other processes could not be read; it is tried again");
    }
    this.#schedule();
  }

  /** Goes back to the look before, and further by as much as a row may come late. */
  async #read(): Promise<(readonly ExecutionState[])[]> {
    const nowMs = Date.now();
    const sinceMs = Math.min(nowMs, this.#lookedAtMs) - this.#overlapMs;
    const { made, ended, taken } = await this.#store.read(listRecentStates(new Date(sinceMs).toISOString(), this.#limit));
    this.#lookedAtMs = nowMs;
    this.#running = new Set([...made, ...taken].flatMap(({ id, status }) => (status === "RUNNING" ? [id] : [])));
    return [ended, made, taken];
  }

  /** Whether there is more after the last one of a page that is not known. */
  #goesOn(page: readonly ExecutionState[]): boolean {
    const last = page.at(-1);
    return last !== undefined && page.length === this.#limit && this.#isNews(last);
  }

  #isNews(state: ExecutionState): boolean {
    return isNews(this.#known.get(state.id), toKnown(state));
  }

  async #tell(news: ReadonlyMap<string, Known | undefined>, isCut: boolean): Promise<void> {
    const ids = [...news.keys()];
    const rows = await this.#store.read(listByIds(ids.slice(0, MAX_TOLD)));
    if (this.#isOver) return;
    const missed = ids.slice(MAX_TOLD);
    if (missed.length > 0 || isCut) for (const watcher of this.#watchers) watcher.onMissed(Math.max(missed.length, 1));
    for (const id of missed) {
      const state = news.get(id);
      if (state !== undefined) this.#known.set(id, state);
    }
    for (const row of rows) this.#tellStored(fromRow(row));
  }

  #tellStored(execution: SkillExecution<unknown>): void {
    const { id, finishedAt } = execution;
    if (!isNews(this.#known.get(id), execution)) return;
    // What has begun here is told by who does it, and may be further than what was read.
    if (finishedAt === null && this.#isRunning(id)) return;
    this.#known.set(id, toKnown(execution));
    const change = { number: this.#events.takeNumber(), value: execution };
    for (const watcher of this.#watchers) watcher.onStatus(change);
  }

  #tellOwn(change: StatusChange): void {
    const { value } = change;
    const known = this.#known.get(value.id);
    if (!isNews(known, value)) return;
    // Another process took it before the answer to its enqueueing was here.
    if (known !== undefined && value.status === "QUEUED") return;
    this.#known.set(value.id, toKnown(value));
    for (const watcher of this.#watchers) watcher.onStatus(change);
  }
}

/** Whether a state is another one than what is known, and not an earlier one. */
function isNews(known: Known | undefined, { status, finishedAt }: Known): boolean {
  if (known === undefined) return true;
  if (known.finishedAt !== null && finishedAt === null) return false;
  return known.status !== status || known.finishedAt !== finishedAt;
}

function toKnown(state: ExecutionState | SkillExecution<unknown>): Known {
  const { status } = state;
  return { status: status as Known["status"], finishedAt: "finished_at" in state ? state.finished_at : state.finishedAt };
}
