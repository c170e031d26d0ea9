/**
 * At least about how many instructions a pattern becomes, without compiling it: a count such as `{1,900}` repeats what is before it, and
 * compiling a short pattern with many counts would take seconds.
 */
export class PatternSize {
  /** Sizes of the open groups, innermost last. */
  readonly #groups: number[] = [0];
  /** Size of the part that a count would repeat. */
  #last = 0;

  get total(): number {
    return this.#groups.reduce((sum, size) => sum + size, 0);
  }

  /** Takes the next part of a pattern, as JavaScript writes it. */
  add(part: string): void {
    if (part.startsWith("(")) this.#groups.push(0);
    else if (part === ")") this.#addPart(this.#groups.pop() ?? 0);
    else if (part.startsWith("{")) this.#repeat(part);
    else if (!"|*+?".includes(part)) this.#addPart(1);
  }

  #addPart(size: number): void {
    this.#last = Math.max(size, 1);
    this.#grow(this.#last);
  }

  #repeat(count: string): void {
    const [least = "1", most = least] = count.slice(1, -1).split(",");
    this.#grow(this.#last * (Math.max(Number(least), Number(most), 1) - 1));
  }

  #grow(size: number): void {
    this.#groups[this.#groups.length - 1] = (this.#groups.at(-1) ?? 0) + size;
  }
}
