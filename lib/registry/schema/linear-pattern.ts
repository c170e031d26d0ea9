import { RE2JS } from "re2js";
import { PatternRefusal, translatePattern } from "./pattern-translation.js";

/** Longest pattern of a registrant, in characters. */
export const MAX_PATTERN_CHARS = 2_000;

/**
 * Matching costs at most this many steps in one validation. The engine usually takes one of them for a character whatever the pattern, but
 * patterns such as `a[ab]{50}c` make it take nearly all, at 20 to 40 ns each: the event loop is kept for less than 50 ms.
 */
const MAX_STEPS = 1_000_000;

/**
 * Steps that the patterns of one validation may still take. Linear time is a bound per character and per instruction of the pattern: a
 * large pattern on a large text still takes seconds, and the array around it multiplies both.
 */
export class StepBudget {
  #left = MAX_STEPS;

  restart(): void {
    this.#left = MAX_STEPS;
  }

  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw new StepsExceeded("too many steps");
  }
}

export class StepsExceeded extends Error {}

export interface LinearPattern {
  /** Instructions of the compiled pattern: the steps that one character may take. */
  readonly size: number;
  test(text: string): boolean;
  /** Ajv tells patterns of one instance apart by this text. */
  toString(): string;
}

/**
 * Compiles a JavaScript pattern (flag `u`) for an engine whose time grows linearly with the text.
 * @throws PatternRefusal when it is no pattern, or needs what such an engine lacks
 */
export function compileLinearPattern(pattern: string, budget: StepBudget): LinearPattern {
  if (pattern.length > MAX_PATTERN_CHARS) throw new PatternRefusal(`is longer than ${MAX_PATTERN_CHARS} characters`);
  checkPatternSyntax(pattern);
  const program = compile(translatePattern(pattern));
  const size = program.programSize();
  return {
    size,
    test(text) {
      budget.spend(size * (text.length + 1));
      return program.test(text);
    },
    toString: () => `linear:${pattern}`,
  };
}

/** @throws PatternRefusal when the text is no pattern of JavaScript */
export function checkPatternSyntax(pattern: string): void {
  try {
    new RegExp(pattern, "u");
  } catch {
    throw new PatternRefusal("is no regular expression (ECMA-262, with the flag u)");
  }
}

function compile(translated: string): RE2JS {
  try {
    return RE2JS.compile(translated);
  } catch (error) {
    const reason = error instanceof Error && "error" in error ? String(error.error) : "not supported";
    throw new PatternRefusal(`cannot run on the linear-time engine (${reason})`);
  }
}
