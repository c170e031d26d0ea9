import type { Logger } from "./types.js";

/** Warnings and errors to the console. */
export const consoleLogger: Logger = Object.freeze({
  debug() {},
  info() {},
  warn: (fields: object, message: string) => console.warn(`express-skills: ${message}`, fields),
  error: (fields: object, message: string) => console.error(`express-skills: ${message}`, fields),
});

/**
 * A logger that never throws: what handlers throw is logged as it is, and there are values that no logger can write. A line about one says
 * so instead.
 */
export function withoutThrowing(logger: Logger): Logger {
  const guarded = (level: keyof Logger) => (fields: object, message: string) => {
    try {
      logger[level](fields, message);
    } catch {
      try {
        logger[level]({}, `${message} (its fields cannot be logged)`);
      } catch {}
    }
  };
  return Object.freeze({
    debug: guarded("debug"),
    info: guarded("info"),
    warn: guarded("warn"),
    error: guarded("error"),
  });
}
