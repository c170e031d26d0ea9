import type { CallEnd } from "./call-watch.js";
import type { SharedMetrics } from "./shared-metrics.js";
import type { CallFigures } from "./sources.js";

// No skill can have these names: a name starts with a letter.
const OTHER = "_other";
const UNKNOWN = "_unknown";

/** Counts the calls of one kit. */
export class CallMetrics {
  readonly #shared: SharedMetrics;
  readonly #maxSkills: number;
  #active = 0;
  #queued = 0;

  constructor(shared: SharedMetrics, maxSkills: number) {
    this.#shared = shared;
    this.#maxSkills = maxSkills;
  }

  begin(): void {
    this.#active++;
  }

  queue(): void {
    this.#queued++;
  }

  leaveQueue(): void {
    this.#queued--;
  }

  end({ skill, isFound, outcome, durationMs, isReplay }: CallEnd): void {
    this.#active--;
    // The earlier call was counted.
    if (isReplay) return;
    const label = skill !== undefined && isFound ? this.#label(skill.name) : UNKNOWN;
    this.#shared.executions.inc({ skill: label, outcome });
    if (durationMs !== null) this.#shared.duration.observe({ skill: label }, durationMs / 1000);
  }

  figures(): CallFigures {
    return { running: this.#active - this.#queued, queued: this.#queued };
  }

  /** A label's values live as long as the process, so callers and registrants must not be able to make them without end. */
  #label(name: string): string {
    const { names } = this.#shared;
    if (names.has(name)) return name;
    if (names.size >= this.#maxSkills) return OTHER;
    names.add(name);
    return name;
  }
}
