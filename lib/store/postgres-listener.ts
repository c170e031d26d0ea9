import type { PostgresClient } from "./postgres-driver.js";

/** On this a change of the catalogue is told, with its schema: several schemas may be in one database. */
export const CHANNEL = "express_skills";

const CHECK_EVERY_MS = 20_000;
const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 5_000;

/**
 * Calls `onChange` for every notification on a connection of its own, after every time this connection had to be made, and every 20 s: a
 * notification that is lost, with or without its connection, is made up for. Nothing of it keeps the process running. Returns a
 * function that ends it.
 */
export function listen(createClient: () => PostgresClient, onChange: () => void): () => void {
  let client: PostgresClient | undefined;
  let retry: NodeJS.Timeout | undefined;
  let failures = 0;
  let stopped = false;

  const connect = async () => {
    const made = createClient();
    client = made;
    const lost = () => {
      if (client !== made) return;
      client = undefined;
      void made.end().catch(() => {});
      if (stopped) return;
      const waitMs = Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** failures++);
      // Half of it by chance, so that not every process comes back to a restarted server in the same moment.
      retry = setTimeout(() => void connect(), waitMs * (0.5 + Math.random() / 2)).unref();
    };
    made.on("error", lost);
    made.on("end", lost);
    let schema: unknown;
    made.on("notification", ({ payload }) => {
      if (payload === schema) onChange();
    });
    try {
      await made.connect();
      made.unref();
      schema = (await made.query({ text: "select current_schema() as schema" })).rows[0]?.schema;
      await made.query({ text: `listen ${CHANNEL}` });
      failures = 0;
      onChange();
    } catch {
      lost();
    }
  };

  const check = () => {
    onChange();
    const checked = client;
    // A connection that died without a word answers nothing.
    void checked?.query({ text: "select 1" }).catch(() => {
      if (client !== checked) return;
      client = undefined;
      void checked.end().catch(() => {});
      if (!stopped) void connect();
    });
  };
  const timer = setInterval(check, CHECK_EVERY_MS).unref();
  void connect();

  return () => {
    stopped = true;
    clearInterval(timer);
    clearTimeout(retry);
    const last = client;
    client = undefined;
    void last?.end().catch(() => {});
  };
}
