import { setTimeout as delay } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { createSkills, type SkillsKit } from "../../lib/index.js";
import { type LogLine, recordingLogger, until } from "../fixtures/kit.js";
import { startPostgres } from "../postgres/server.js";

async function codeOf(call: Promise<unknown>): Promise<string | undefined> {
  return call.then(
    () => undefined,
    ({ code }: { code: string }) => code,
  );
}

/** Work for later, first without an idempotency key. */
function enqueueTwice(kit: SkillsKit): Promise<unknown[]> {
  const enqueue = (idempotencyKey?: string) => codeOf(kit.executor.enqueue("later", {}, { idempotencyKey }));
  return Promise.all([enqueue(), enqueue("key")]);
}

test("a restart of the server in the middle of a load loses no acknowledged call, and kit, catalogue and audit recover by themselves", {
  timeout: 120_000,
}, async () => {
  const server = await startPostgres();
  onTestFinished(() => server.remove());
  const lines: LogLine[] = [];
  const kit = createSkills({ database: server.url, logger: recordingLogger(lines) });
  onTestFinished(() => kit.close({ graceMs: 0 }));
  // A process that has not noticed yet, since it does nothing but to enqueue.
  const unaware = createSkills({ database: server.url, worker: false, logger: recordingLogger([]) });
  onTestFinished(() => unaware.close({ graceMs: 0 }));
  kit.define({ name: "echo", schema: { type: "object" }, handler: (input) => input });
  for (const each of [kit, unaware]) {
    each.define({ name: "later", schema: { type: "object" }, handler: () => 1 });
    await each.ready();
  }

  const acknowledged: string[] = [];
  const refused = new Map<string, number>();
  let isOver = false;
  const callAllTheTime = async () => {
    while (!isOver) {
      try {
        acknowledged.push((await kit.executor.execute("echo", { n: acknowledged.length })).id);
      } catch (error) {
        const { code } = error as { code: string };
        refused.set(code, (refused.get(code) ?? 0) + 1);
        await delay(20);
      }
    }
  };
  const callers = Array.from({ length: 16 }, callAllTheTime);
  await until(() => acknowledged.length > 200);
  for (let round = 0; round < 2; round++) {
    await server.stop();
    await until(() => kit.executor.auditStats()?.failing === true);
    // What needs no database is still there.
    expect((await kit.registry.list()).map(({ name }) => name)).toEqual(["echo", "later"]);
    expect(await kit.registry.getSkill("echo@^1")).toMatchObject({ name: "echo", version: "1.0.0" });
    expect(await enqueueTwice(kit)).toEqual(["AUDIT_UNAVAILABLE", "AUDIT_UNAVAILABLE"]);
    if (round === 0) expect(await enqueueTwice(unaware)).toEqual(["STORE_UNAVAILABLE", "STORE_UNAVAILABLE"]);
    await server.start();
    const before = acknowledged.length;
    await until(() => acknowledged.length > before + 200);
  }
  isOver = true;
  await Promise.all(callers);

  expect([...refused.keys()].filter((code) => code !== "AUDIT_UNAVAILABLE")).toEqual([]);
  await kit.registry.setMode("echo", "1.0.0", "auto");
  await until(() => kit.executor.auditStats()?.waiting === 0);
  const counted = await kit.executor.countExecutions({ status: "SUCCESS" });
  expect(counted).toBeGreaterThanOrEqual(acknowledged.length);
  expect(await kit.executor.countExecutions({ status: ["RUNNING", "QUEUED"] })).toBe(0);
  expect(await kit.executor.countExecutions({ skillName: "later" })).toBe(0);
  for (const id of acknowledged.filter((_, index) => index % 50 === 0))
    expect(await kit.executor.getExecution(id)).toMatchObject({ status: "SUCCESS" });
  expect(kit.executor.auditStats()).toMatchObject({ lost: 0, failing: false });
  expect(JSON.stringify(lines)).not.toContain(new URL(server.url).password);
});
