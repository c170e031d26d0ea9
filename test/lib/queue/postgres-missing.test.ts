import { expect, test, vi } from "vitest";
import { openTestKit, until } from "../../fixtures/kit.js";

vi.mock("graphile-worker", () => {
  throw new Error("Cannot find package 'graphile-worker'");
});

const skill = { name: "work", schema: { type: "object" }, handler: () => "done" } as const;
const cure = { code: "STORE_DRIVER_UNAVAILABLE", message: expect.stringContaining("npm install graphile-worker@0.17") };

test("without graphile-worker everything but work for later works, and that says what to install", async () => {
  const kit = openTestKit({ worker: {} });
  kit.define(skill);
  await kit.ready();
  expect(await kit.executor.run("work", {})).toBe("done");
  await expect(kit.executor.enqueue("work", {})).rejects.toMatchObject(cure);
  expect(await kit.executor.listExecutions()).toMatchObject([
    { status: "DENIED", errorCode: "STORE_DRIVER_UNAVAILABLE" },
    { status: "SUCCESS" },
  ]);
  // The worker that nobody asked for does not complain; the one that somebody starts does, once.
  const complaints = () => kit.logged.filter(({ level }) => level === "error" || level === "warn");
  expect(complaints()).toEqual([]);
  const worker = kit.startWorker();
  await until(() => complaints().length > 0);
  expect(complaints()).toMatchObject([{ message: "the worker cannot start", fields: { err: cure } }]);
  await worker.stop();
  expect(complaints()).toHaveLength(1);
});
