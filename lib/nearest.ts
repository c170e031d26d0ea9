/** The entry of `valid` that `word` is most likely a misspelling of, or `undefined` when none is close. */
export function nearest(word: string, valid: readonly string[]): string | undefined {
  const typed = word.slice(0, 64).toLowerCase();
  let best: string | undefined;
  let bestDistance = Math.max(2, Math.floor(typed.length / 3)) + 1;
  for (const candidate of valid) {
    const distance = editDistance(typed, candidate.toLowerCase());
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return best;
}

/** "; did you mean \"x\"?", or the list of what is valid when nothing is close. */
export function suggestion(word: string, valid: readonly string[]): string {
  const found = nearest(word, valid);
  return found === undefined ? `; valid are ${valid.join(", ")}` : `; did you mean "${found}"?`;
}

function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const substitution = (previous[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1);
      current.push(Math.min(substitution, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[b.length] ?? 0;
}
