import { isSkillError, SkillError } from "../errors.js";
import { retryWhileBusy } from "./patience.js";
import type { PostgresClient, PostgresPool, PostgresQuery, PostgresResult } from "./postgres-driver.js";
import { type PostgresFault, postgresFault, toStoreError } from "./postgres-errors.js";
import type { Jobs } from "./postgres-jobs.js";
import { CHANNEL, listen } from "./postgres-listener.js";
import { closePool, watchClients } from "./postgres-pool.js";
import { toPostgres } from "./postgres-query.js";
import { createPostgresUpsert } from "./postgres-upsert.js";
import { createPostgresWork } from "./postgres-work.js";
import type { Operation, QueryAnswer, Store } from "./store.js";

/** How long a write is tried again while other transactions are in its way, or the server restarts. */
const writeLimitMs = 5_000;

export interface PostgresConnections {
  readonly pool: PostgresPool;
  /** Makes a client outside the pool, not yet connected. */
  createClient(): PostgresClient;
  /** How the database is called in messages. */
  readonly description: string;
  readonly jobs: Jobs;
}

type PooledClient = Awaited<ReturnType<PostgresPool["connect"]>>;

/** Runs one query. */
type Ask = (query: PostgresQuery) => Promise<PostgresResult>;

/** The store over a pool, which it owns from here on. */
export function createPostgresStore({ pool, createClient, description, jobs }: PostgresConnections): Store {
  const inUse = watchClients(pool);
  const watchers: (() => void)[] = [];
  let stopListening: (() => void) | undefined;
  let closing: Promise<void> | undefined;

  const assertOpen = () => {
    if (closing !== undefined)
      throw new SkillError("STORE_UNAVAILABLE", `The database ${description} was closed by this process.`);
  };
  const translated = <T>(answer: Promise<T>): Promise<T> =>
    answer.catch((error: unknown) => {
      throw toStoreError(error, description);
    });
  const askPool: Ask = (query) => translated(pool.query(query));
  const upsert = createPostgresUpsert(askPool);

  /** Nothing has been done yet, so it may wait for the server to be there again. */
  const connect = (prepare: (client: PooledClient) => Promise<unknown> = async () => {}) =>
    retryWhileBusy(
      async () => {
        assertOpen();
        const client = await translated(pool.connect());
        try {
          await translated(prepare(client));
          return client;
        } catch (error) {
          client.release(true);
          throw error;
        }
      },
      writeLimitMs,
      (error) => ["busy", "gone"].includes(faultOf(error) ?? ""),
    );

  const transact = async <T>(operation: () => Operation<T>): Promise<T> => {
    const client = await connect((one) => one.query({ text: "begin isolation level read committed" }));
    const ask: Ask = (query) => translated(client.query(query));
    try {
      const result = await finishAndTell(operation(), ask);
      await ask({ text: "commit" });
      client.release();
      return result;
    } catch (error) {
      if (isMissing(error)) jobs.forget();
      if (faultOf(error) === "gone") client.release(true);
      else await client.query({ text: "rollback" }).then(() => client.release(), client.release);
      throw error;
    }
  };

  /** Runs a statement as a transaction by itself. */
  const tryOne: Ask = async (query) => {
    const client = await connect();
    try {
      const result = await translated(client.query(query));
      client.release();
      return result;
    } catch (error) {
      if (isMissing(error)) jobs.forget();
      client.release(faultOf(error) === "gone");
      throw error;
    }
  };
  const writeOne: Ask = (query) =>
    retryWhileBusy(
      () => tryOne(query),
      writeLimitMs,
      (error) => faultOf(error) === "busy",
    );

  return {
    kind: "postgres",
    read(operation) {
      assertOpen();
      // What is wrong with the question itself is thrown at once, as on SQLite.
      return finish(operation, operation.next(), askPool);
    },
    write: (operation) =>
      retryWhileBusy(
        () => transact(operation),
        writeLimitMs,
        (error) => faultOf(error) === "busy",
      ),
    upsertExecutions(rows) {
      assertOpen();
      return upsert(rows);
    },
    watch(onChange) {
      assertOpen();
      watchers.push(onChange);
      stopListening ??= listen(createClient, () => {
        for (const tell of watchers) tell();
      });
    },
    jobs: { ...jobs, ...createPostgresWork(writeOne, jobs.schema) },
    close() {
      closing ??= Promise.all([closePool(pool, inUse), jobs.close()]).then(() => {});
      stopListening?.();
      return closing;
    },
  };
}

/** Drives an operation to its end. */
async function finish<T>(operation: Operation<T>, firstStep: ReturnType<Operation<T>["next"]>, ask: Ask): Promise<T> {
  let step = firstStep;
  while (!step.done) {
    let answer: QueryAnswer;
    try {
      const { rows, rowCount } = await ask(toPostgres(step.value));
      answer = { rows, changes: rowCount ?? 0 };
    } catch (error) {
      step = operation.throw(error);
      continue;
    }
    step = operation.next(answer);
  }
  return step.value;
}

/** The same in a transaction: when it changed the catalogue, its commit tells every process. */
async function finishAndTell<T>(operation: Operation<T>, ask: Ask): Promise<T> {
  let isChanged = false;
  const result = await finish(operation, operation.next(), (query) => {
    isChanged ||= /^(update|insert into|delete from) "catalogue"/.test(query.text);
    return ask(query);
  });
  if (isChanged) await ask({ text: `select pg_notify('${CHANNEL}', current_schema())` });
  return result;
}

/** Whether a schema, table or function is not there. */
function isMissing(error: unknown): boolean {
  const cause = isSkillError(error) ? (error.cause as { readonly code?: unknown } | undefined) : undefined;
  return typeof cause?.code === "string" && ["3F000", "42P01", "42883"].includes(cause.code);
}

/** Which kind of fault of PostgreSQL is behind an error of the store; `undefined` when none is. */
function faultOf(error: unknown): PostgresFault | undefined {
  return isSkillError(error) && error.cause !== undefined ? postgresFault(error.cause) : undefined;
}
