import { SkillError } from "../errors.js";
import type { SkillHeadRow } from "../store/rows.js";
import { readSettings } from "../store/settings.js";
import { readRevision, readSkillHeadsSince } from "../store/skills.js";
import type { Operation, Store } from "../store/store.js";
import type { Logger, MaybePromise } from "../types.js";
import { Catalogue } from "./catalogue.js";
import { isDeleted, toHead } from "./head.js";

/** A copy checked less than this long ago counts as fresh. */
const FRESH_MS = 1_000;
/** A copy that could not be checked for this long is no longer served. */
const MAX_AGE_MS = 60_000;
const NOTHING_LOADED = -1;

/** What changed since a revision. */
interface Changes {
  readonly revision: number;
  /** Whether these are all rows, not only the changed ones. */
  readonly everything: boolean;
  readonly rows: readonly SkillHeadRow[];
  readonly settings: Readonly<Record<string, unknown>>;
}

interface CopyOptions {
  /** A monotonic clock, in milliseconds. */
  readonly now?: (() => number) | undefined;
  /** Told the id of every version that changed after it was loaded. */
  readonly onChange?: ((skillId: string) => void) | undefined;
}

/**
 * This process's copy of the catalogue and the settings. It follows the database by one counter, which is read when the copy was last
 * checked more than a second ago: at once on SQLite, in the background on a database that answers later. Such a database also tells of
 * changes. A copy that was not checked for 60 s is not used before it is.
 */
export class CatalogueCopy {
  #catalogue = new Catalogue();
  #settings: Readonly<Record<string, unknown>> = {};
  #revision = NOTHING_LOADED;
  #checkedAtMs = Number.NEGATIVE_INFINITY;
  #succeededAtMs = Number.NEGATIVE_INFINITY;
  #failure: unknown;
  #isWatching = false;
  #refreshing: Promise<void> | undefined;
  readonly #store: Store;
  readonly #logger: Logger;
  readonly #now: () => number;
  readonly #onChange: (skillId: string) => void;

  constructor(store: Store, logger: Logger, { now = () => performance.now(), onChange = () => {} }: CopyOptions = {}) {
    this.#store = store;
    this.#logger = logger;
    this.#now = now;
    this.#onChange = onChange;
  }

  get catalogue(): Catalogue {
    return this.#catalogue;
  }

  /** The database's revision that this copy is of. */
  get revision(): number {
    return this.#revision;
  }

  get settings(): Readonly<Record<string, unknown>> {
    return this.#settings;
  }

  /**
   * Sees to it that the copy may be used; nothing to wait for when it may be used already.
   * @throws STORE_UNAVAILABLE when the database could not be read for 60 s
   */
  ensureFresh(): MaybePromise<void> | undefined {
    const now = this.#now();
    const refreshing = now - this.#checkedAtMs < FRESH_MS ? this.#refreshing : this.#refresh(now);
    if (now - this.#succeededAtMs <= MAX_AGE_MS) return undefined;
    return refreshing === undefined ? this.#checkAge() : refreshing.then(() => this.#ensureRecent());
  }

  /** Sees what this process has just written. */
  async catchUp(): Promise<void> {
    // One that is under way may have read before the write.
    await this.#refreshing;
    await this.#refresh(this.#now());
  }

  /** Reads everything anew. @throws what the store throws */
  async reload(): Promise<void> {
    // Before the first look, so that no change falls between the two.
    if (!this.#isWatching) this.#store.watch?.(() => void this.catchUp());
    this.#isWatching = true;
    await this.#refreshing;
    this.#revision = NOTHING_LOADED;
    await this.#refresh(this.#now());
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** The next use checks the counter. */
  expire(): void {
    this.#checkedAtMs = Number.NEGATIVE_INFINITY;
  }

  /** One at a time, however many ask. It never rejects. */
  #refresh(now: number): Promise<void> | undefined {
    if (this.#refreshing !== undefined) return this.#refreshing;
    this.#checkedAtMs = now;
    try {
      const answer = this.#store.read(changesSince(this.#revision));
      if (!(answer instanceof Promise)) {
        this.#succeed(answer, now);
        return undefined;
      }
      this.#refreshing = answer
        .then((changes) => this.#succeed(changes, now))
        .catch((error: unknown) => this.#fail(error))
        .finally(() => {
          this.#refreshing = undefined;
        });
      return this.#refreshing;
    } catch (error) {
      this.#fail(error);
      return undefined;
    }
  }

  /** `askedAtMs`: what was committed after that may be missing. */
  #succeed(changes: Changes | undefined, askedAtMs: number): void {
    if (changes !== undefined) this.#apply(changes);
    if (this.#failure !== undefined) this.#logger.info({}, "The catalogue of skills is read from the database again.");
    this.#failure = undefined;
    this.#succeededAtMs = askedAtMs;
  }

  #fail(error: unknown): void {
    if (this.#failure === undefined) {
      this.#logger.warn(
        { err: error },
        "The catalogue of skills could not be read; the loaded copy stays in use for up to 60 s.",
      );
    }
    this.#failure = error;
  }

  #apply({ revision, everything, rows, settings }: Changes): void {
    const catalogue = everything ? new Catalogue() : this.#catalogue;
    for (const row of rows) this.#applyRow(catalogue, row);
    this.#catalogue = catalogue;
    this.#settings = settings;
    this.#revision = revision;
    if (!everything) for (const { id } of rows) this.#onChange(id);
  }

  #applyRow(catalogue: Catalogue, row: SkillHeadRow): void {
    const head = isDeleted(row) ? undefined : toHead(row);
    if (head !== undefined && !("problem" in head)) {
      catalogue.put(head);
      return;
    }
    catalogue.remove(row.id);
    if (head !== undefined)
      this.#logger.warn({ skillId: row.id, problem: head.problem }, "A stored skill was skipped: its row is damaged.");
  }

  /** An answer may come so late that it is old itself: when the process was stopped meanwhile, for one. */
  #ensureRecent(): MaybePromise<void> | undefined {
    return this.#failure === undefined ? this.ensureFresh() : this.#checkAge();
  }

  #checkAge(): undefined {
    if (this.#failure === undefined || this.#now() - this.#succeededAtMs <= MAX_AGE_MS) return undefined;
    throw new SkillError("STORE_UNAVAILABLE", "The catalogue of skills could not be read from the database for 60 s.", {
      cause: this.#failure,
      retryAfterMs: FRESH_MS,
    });
  }
}

function* changesSince(known: number): Operation<Changes | undefined> {
  // The counter first: what is committed after it is read again next time, never missed.
  const revision = yield* readRevision();
  if (revision === known) return undefined;
  // A counter that went back means that the database was replaced, by a backup for one.
  const everything = known === NOTHING_LOADED || revision < known;
  const rows = yield* readSkillHeadsSince(everything ? NOTHING_LOADED : known);
  return { revision, everything, rows, settings: yield* readSettings() };
}
