import { setTimeout as delay } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { createSkills } from "../../../lib/index.js";
import { gate, type LogLine, recordingLogger, until } from "../../fixtures/kit.js";
import { startPostgres } from "../../postgres/server.js";
import { ended } from "./processes.js";

test("after PostgreSQL was away a worker takes work again at once, while what it ran before goes on", {
  timeout: 120_000,
}, async () => {
  const server = await startPostgres();
  onTestFinished(() => server.remove());
  const lines: LogLine[] = [];
  const kit = createSkills({ database: server.url, logger: recordingLogger(lines), worker: { concurrency: 3 } });
  onTestFinished(() => kit.close({ graceMs: 0 }));
  const { promise, open } = gate();
  let running = 0;
  let most = 0;
  const working = async (work: Promise<unknown>) => {
    most = Math.max(most, ++running);
    await work;
    running--;
  };
  kit.define({ name: "long", timeoutMs: 100_000, schema: { type: "object" }, handler: () => working(promise) });
  kit.define({ name: "short", schema: { type: "object" }, handler: () => working(delay(300)) });
  await kit.ready();
  const long = await kit.executor.enqueue("long", {});
  await until(() => kit.executor.isRunning(long.id));
  const short = await kit.executor.enqueue("short", {});
  await until(() => kit.executor.isRunning(short.id));
  // The end of its job cannot be told, and looks for others fail.
  await server.stop();
  await delay(3_000);
  await server.start();
  await until(() => lines.some(({ message }) => message === "jobs are taken again"));
  await until(() => kit.executor.auditStats()?.failing === false);
  const ids: string[] = [];
  for (let n = 0; n < 8; n++) ids.push((await kit.executor.enqueue("short", {})).id);
  for (const id of ids) expect(await ended(kit, id)).toMatchObject({ status: "SUCCESS" });
  expect(kit.executor.isRunning(long.id)).toBe(true);
  expect(most).toBeLessThanOrEqual(3);
  open();
  expect(await ended(kit, long.id)).toMatchObject({ status: "SUCCESS", attempts: 1 });
  expect(await ended(kit, short.id)).toMatchObject({ status: "SUCCESS", attempts: 1 });
  expect(lines.filter(({ message }) => message.startsWith("jobs cannot be taken")).length).toBeLessThanOrEqual(1);
});
