import type { ExecutionEvents } from "../executor/events.js";
import type { Store } from "../store/store.js";
import { pruneTraces, writeTraces } from "../store/traces.js";
import type { Logger } from "../types.js";

/** How long what ended work said stays for those that follow it from other processes. */
const KEEP_MS = 10 * 60_000;
const PRUNE_EVERY_MS = 60_000;

/**
 * Stores what queued work and the calls made in it say while they run, so that other processes can show it. What says nothing costs
 * nothing.
 */
export class TraceWriter {
  readonly #store: Store;
  readonly #events: ExecutionEvents;
  readonly #logger: Logger;
  /** By execution: the number of the latest that is stored. */
  readonly #written = new Map<string, number>();
  #prunedAtMs = Number.NEGATIVE_INFINITY;

  constructor(store: Store, events: ExecutionEvents, logger: Logger) {
    this.#store = store;
    this.#events = events;
    this.#logger = logger;
  }

  /** The same for all executions that run: what was stored of others is forgotten. */
  async writeRunning(executionIds: readonly string[]): Promise<void> {
    const running = new Set(executionIds);
    for (const id of this.#written.keys()) if (!running.has(id)) this.#written.delete(id);
    await this.write(running);
  }

  /** Writes what is new of these executions. Never rejects. */
  async write(executionIds: Iterable<string>): Promise<void> {
    const traces: [string, string][] = [];
    for (const id of executionIds) {
      const shared = this.#events.share(id);
      if (shared === undefined || shared.number === (this.#written.get(id) ?? 0)) continue;
      this.#written.set(id, shared.number);
      traces.push([id, JSON.stringify(shared.trace)]);
    }
    if (traces.length === 0) return;
    const now = Date.now();
    const isPruning = performance.now() - this.#prunedAtMs > PRUNE_EVERY_MS;
    if (isPruning) this.#prunedAtMs = performance.now();
    try {
      await this.#store.write(function* () {
        yield* writeTraces(traces, new Date(now).toISOString());
        if (isPruning) yield* pruneTraces(new Date(now - KEEP_MS).toISOString());
      });
    } catch (error) {
      for (const [id] of traces) this.#written.delete(id);
      this.#logger.debug({ err: error }, "what queued work said could not be stored; it is tried again");
    }
  }
}
