/** Places for work that is done at the same time, also while several pools take it. */
export class Places {
  #free: number;
  #isOpen = false;
  readonly #waiting: (() => void)[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  /** Resolves when there is a place, which is taken then. */
  async take(): Promise<void> {
    if (this.#free > 0 || this.#isOpen) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  giveBack(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free++;
    else next();
  }

  /** Nobody waits any more: there is nothing to be taken. */
  open(): void {
    this.#isOpen = true;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
