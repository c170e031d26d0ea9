import type { SkillExecution, SkillsKit, StatusChange } from "../../../lib/index.js";
import { toSummary } from "../show.js";
import { parseEventId, renderEvent, renderEventId, type StreamSource } from "./stream.js";

interface Entry {
  readonly number: number;
  readonly text: string;
}

/** As many as fit into what a reader may leave unread. */
const MAX_ENTRIES = 250;

/** The latest status changes of all executions, rendered once for however many streams; watches only while there is one. */
export class Feed {
  readonly #executor: SkillsKit["executor"];
  readonly #sources = new Set<FeedSource>();
  #entries: Entry[] = [];
  /** Entries that are gone. */
  #forgotten = 0;
  #following: Promise<() => void> | undefined;

  constructor(executor: SkillsKit["executor"]) {
    this.#executor = executor;
  }

  /** How many there were since it watches. */
  get count(): number {
    return this.#forgotten + this.#entries.length;
  }

  /** Opens a source that sends a first page of the list, and then what changes. */
  async open(
    lastEventId: string | undefined,
    firstPage: () => Promise<readonly SkillExecution<unknown>[]>,
    wake: () => void,
  ): Promise<StreamSource> {
    const source = new FeedSource(this, wake);
    this.#sources.add(source);
    try {
      await this.#follow();
      const last = parseEventId(this.#executor.events.id, lastEventId);
      const position = last === undefined ? undefined : this.#positionAfter(last);
      if (position === undefined) source.begin(renderEvent("state", { items: (await firstPage()).map(toSummary) }));
      else source.resume(position);
      return source;
    } catch (error) {
      source.stop();
      throw error;
    }
  }

  forget(source: FeedSource): void {
    this.#sources.delete(source);
    if (this.#sources.size > 0) return;
    this.#following?.then(
      (stop) => stop(),
      () => {},
    );
    this.#following = undefined;
    this.#entries = [];
    this.#forgotten = 0;
  }

  /** The texts from a position on, and how many before them are gone. */
  from(position: number): { readonly text: string; readonly missed: number } {
    const entries = this.#entries.slice(Math.max(0, position - this.#forgotten));
    return { text: entries.map(({ text }) => text).join(""), missed: Math.max(0, this.#forgotten - position) };
  }

  /** Where a client goes on that has an event; `undefined` when what followed may be gone. */
  #positionAfter(number: number): number | undefined {
    const index = this.#entries.findIndex((entry) => entry.number === number);
    return index === -1 ? undefined : this.#forgotten + index + 1;
  }

  /** What is told before it resolves may be in the first page too. */
  #follow(): Promise<() => void> {
    if (this.#following !== undefined) return this.#following;
    const ifCurrent = (work: () => void) => {
      if (this.#following === following) work();
    };
    const following = this.#executor.followExecutions({
      onStatus: (change) => ifCurrent(() => this.#add(change)),
      onMissed: (changes) => ifCurrent(() => this.#skip(changes)),
      onClose: () =>
        ifCurrent(() => {
          for (const open of this.#sources) open.close();
        }),
    });
    this.#following = following;
    return following;
  }

  /** The gap comes before what follows it: what was not sent yet is left out with the rest. */
  #skip(changes: number): void {
    this.#forgotten += this.#entries.length + changes;
    this.#entries = [];
    for (const source of this.#sources) source.wake();
  }

  #add({ number, value }: StatusChange): void {
    const text = renderEvent("status", toSummary(value), renderEventId(this.#executor.events.id, number));
    this.#entries.push({ number, text });
    if (this.#entries.length > MAX_ENTRIES) {
      this.#entries.shift();
      this.#forgotten++;
    }
    for (const source of this.#sources) source.wake();
  }
}

class FeedSource implements StreamSource {
  readonly #feed: Feed;
  readonly wake: () => void;
  #position: number;
  #first = "";
  #isClosed = false;

  constructor(feed: Feed, wake: () => void) {
    this.#feed = feed;
    this.wake = wake;
    this.#position = feed.count;
  }

  /** What changed while the first page was read comes after it, perhaps once more. */
  begin(first: string): void {
    this.#first = first;
  }

  resume(position: number): void {
    this.#position = position;
  }

  close(): void {
    this.#isClosed = true;
    this.wake();
  }

  read(): { text: string; isLast: boolean } {
    const { text, missed } = this.#feed.from(this.#position);
    const gap = missed === 0 ? "" : renderEvent("gap", { changes: missed });
    const all = this.#first + gap + text;
    this.#first = "";
    this.#position = this.#feed.count;
    return { text: all, isLast: this.#isClosed };
  }

  stop(): void {
    this.#feed.forget(this);
  }
}
