/**
 * The part of a synchronous SQLite binding that this room uses. Rows are plain objects; integers are numbers, never BigInt.
 */

export interface SqliteStatement {
  /** For statements that return rows. */
  all(values: readonly unknown[]): Record<string, unknown>[];
  /** For statements that return none; gives the number of rows changed. */
  run(values: readonly unknown[]): number;
}

export interface SqliteConnection {
  prepare(sql: string): SqliteStatement;
  exec(sql: string): void;
  close(): void;
}

export interface SqliteDriver {
  /** Opens a file, creating it when it is missing, or `:memory:`. Never waits for a lock. */
  open(file: string): SqliteConnection;
}

/** A binding that may or may not be there. */
export interface SqliteDriverLoader {
  readonly name: string;
  /** Loads the binding and proves that it works; throws the reason why not. */
  load(): SqliteDriver;
}
