import { SkillError } from "../errors.js";
import { suggestion } from "../nearest.js";
import type { WorkerOptions } from "../types.js";

export interface WorkerConfig {
  readonly concurrency: number;
}

const KEYS = { concurrency: true } satisfies Record<keyof WorkerOptions, true>;
const DEFAULT_CONCURRENCY = 10;
const MAX_CONCURRENCY = 1_000;

/** @throws INVALID_OPTION */
export function parseWorkerOptions(options: WorkerOptions): WorkerConfig {
  if (typeof options !== "object" || options === null)
    throw invalid("worker must be an object such as { concurrency: 10 }, or false.");
  for (const key of Object.keys(options)) {
    if (!Object.hasOwn(KEYS, key)) throw invalid(`worker has no option "${key}"${suggestion(key, Object.keys(KEYS))}.`);
  }
  const { concurrency = DEFAULT_CONCURRENCY } = options;
  if (!Number.isInteger(concurrency) || concurrency < 1 || concurrency > MAX_CONCURRENCY)
    throw invalid(`worker.concurrency must be a whole number from 1 to ${MAX_CONCURRENCY}.`);
  return { concurrency };
}

function invalid(message: string): SkillError {
  return new SkillError("INVALID_OPTION", message);
}
