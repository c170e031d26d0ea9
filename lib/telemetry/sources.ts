/** What a kit tells of itself when its metrics are read. */
export interface MetricsSource {
  calls(): CallFigures;
  /** `undefined` before the kit is open. */
  audit(): AuditFigures | undefined;
  /** `undefined` for a kit without a sandbox. */
  sandbox(): SandboxFigures | undefined;
}

export interface CallFigures {
  readonly running: number;
  readonly queued: number;
}

export interface AuditFigures {
  readonly waiting: number;
  readonly lost: number;
  /** Age of the oldest end of a call that waits to be written. */
  readonly lagMs: number;
}

export interface SandboxFigures {
  readonly running: number;
  readonly queued: number;
  readonly removing: number;
  readonly slots: {
    readonly waiting: number;
    readonly starting: number;
    readonly hits: number;
    readonly misses: Readonly<Record<string, number>>;
  };
}

/** The kits on one registry. Their figures are added up, and what a kit that closed had counted stays in the totals. */
export class MetricsSources {
  readonly #open = new Set<MetricsSource>();
  #retiredLost = 0;
  #retiredHits = 0;
  readonly #retiredMisses = new Map<string, number>();

  add(source: MetricsSource): void {
    this.#open.add(source);
  }

  retire(source: MetricsSource): void {
    if (!this.#open.delete(source)) return;
    this.#retiredLost += source.audit()?.lost ?? 0;
    const slots = source.sandbox()?.slots;
    this.#retiredHits += slots?.hits ?? 0;
    for (const [reason, count] of Object.entries(slots?.misses ?? {})) addTo(this.#retiredMisses, reason, count);
  }

  /** The sum over the kits that are open. */
  sum(figure: (source: MetricsSource) => number | undefined): number {
    return [...this.#open].reduce((total, source) => total + (figure(source) ?? 0), 0);
  }

  max(figure: (source: MetricsSource) => number | undefined): number {
    return [...this.#open].reduce((most, source) => Math.max(most, figure(source) ?? 0), 0);
  }

  lost(): number {
    return this.#retiredLost + this.sum((source) => source.audit()?.lost);
  }

  hits(): number {
    return this.#retiredHits + this.sum((source) => source.sandbox()?.slots.hits);
  }

  misses(): ReadonlyMap<string, number> {
    const misses = new Map(this.#retiredMisses);
    for (const source of this.#open)
      for (const [reason, count] of Object.entries(source.sandbox()?.slots.misses ?? {})) addTo(misses, reason, count);
    return misses;
  }
}

function addTo(counts: Map<string, number>, key: string, count: number): void {
  counts.set(key, (counts.get(key) ?? 0) + count);
}
