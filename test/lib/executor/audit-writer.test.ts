import { describe, expect, onTestFinished, test } from "vitest";
import type { AuditEntry } from "../../../lib/executor/audit.js";
import { AuditWriter } from "../../../lib/executor/audit-writer.js";
import { type CallFacts, type CallState, RUNNING, toEntry } from "../../../lib/executor/record.js";
import { findExecution } from "../../../lib/store/executions.js";
import { openStore } from "../../../lib/store/open.js";
import { newImpatientDatabase } from "../../fixtures/database.js";
import { type LogLine, recordingLogger, until } from "../../fixtures/kit.js";
import { lockDatabase } from "../../fixtures/lock.js";

const openWriter = async (config: { required?: boolean; waitMs?: number } = {}) => {
  const file = newImpatientDatabase();
  const store = await openStore({ database: file, durability: "process" });
  const lines: LogLine[] = [];
  const writer = new AuditWriter(store, { required: true, waitMs: 1_000, ...config }, recordingLogger(lines));
  onTestFinished(async () => {
    await writer.close();
    await store.close();
  });
  const statusOf = async (id: string) => (await store.read(findExecution(id)))?.status;
  return { file, store, writer, lines, statusOf };
};

const SUCCESS: CallState = { ...RUNNING, status: "SUCCESS", attempts: 1, durationMs: 1, finishedAt: new Date().toISOString() };
const entryOf = (id: string, state: CallState): AuditEntry => toEntry(factsOf(id), state, 65_536);
const poison = (id: string): AuditEntry => ({
  id,
  render() {
    throw new RangeError("poison");
  },
});

describe("an entry that cannot become a row", () => {
  test("fails its own call, and no other", async () => {
    const { writer, lines, statusOf } = await openWriter();
    const bad = writer.commit(poison("bad")).catch((error: unknown) => error);
    const good = writer.commit(entryOf("good", SUCCESS));
    writer.put(poison("bad start"));
    await good;
    expect(await bad).toBeInstanceOf(RangeError);
    expect(await statusOf("good")).toBe("SUCCESS");
    await writer.close();
    expect(writer.stats()).toEqual({ waiting: 0, written: 1, lost: 2, lagMs: 0, failing: false });
    expect(lines.map((line) => line.message)).toEqual(["an audit row could not be made", "an audit row could not be made"]);
  });

  test("is counted and logged when rows are not required, and the call goes on", async () => {
    const { writer, lines } = await openWriter({ required: false });
    await writer.commit(poison("bad"));
    expect(writer.stats()).toMatchObject({ lost: 1 });
    expect(lines).toMatchObject([{ level: "error", fields: { executionId: "bad" } }]);
  });
});

describe("a row that the database refuses", () => {
  const refused = (id: string): AuditEntry => ({
    id,
    render: () => ({ ...entryOf(id, SUCCESS).render(), api_key_id: null as unknown as string }),
  });

  test("fails its own call, and no other", async () => {
    const { writer, statusOf } = await openWriter();
    const [bad, good] = [writer.commit(refused("bad")), writer.commit(entryOf("good", SUCCESS))];
    await expect(bad).rejects.toThrow(/constraint/i);
    await good;
    expect([await statusOf("bad"), await statusOf("good")]).toEqual([undefined, "SUCCESS"]);
    expect(writer.stats()).toMatchObject({ written: 1, lost: 1, failing: false });
  });

  test("does not fail its call when rows are not required", async () => {
    const { writer } = await openWriter({ required: false });
    await writer.commit(refused("bad"));
    expect(writer.stats()).toMatchObject({ written: 0, lost: 1 });
  });
});

test("starts are written while more ends than a batch holds keep coming", async () => {
  const { writer, statusOf } = await openWriter();
  writer.put(entryOf("long", RUNNING));
  let seen: string | undefined;
  let isBusy = true;
  let last: Promise<unknown> = Promise.resolve();
  for (let round = 0; round < 200 && seen === undefined; round++) {
    const before = last;
    last = Promise.all(Array.from({ length: 600 }, (_, n) => writer.commit(entryOf(`${round}-${n}`, SUCCESS))));
    await before;
    isBusy &&= writer.stats().waiting > 0;
    seen = await statusOf("long");
  }
  expect(seen).toBe("RUNNING");
  // Without the constant load it would have been written anyway.
  expect(isBusy).toBe(true);
  await last;
});

test("the end of a call takes the place of its start: one row, written once", async () => {
  const { writer, statusOf } = await openWriter();
  writer.put(entryOf("a", RUNNING));
  await writer.commit(entryOf("a", SUCCESS));
  expect(await statusOf("a")).toBe("SUCCESS");
  expect(writer.stats()).toEqual({ waiting: 0, written: 1, lost: 0, lagMs: 0, failing: false });
});

describe("while the database is locked", () => {
  test("for a moment, as another process on the same file does at each commit, calls go on and nothing is logged", async () => {
    const { file, writer, lines, statusOf } = await openWriter({ waitMs: 60_000 });
    const lock = await lockDatabase(file);
    const waiting = writer.commit(entryOf("a", SUCCESS));
    // Enough for the first try, which fails.
    for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(writer.stats()).toMatchObject({ waiting: 1, failing: false });
    expect(() => writer.admit()).not.toThrow();
    expect(lines).toEqual([]);
    await lock.release();
    await waiting;
    expect(await statusOf("a")).toBe("SUCCESS");
  });

  test("for longer, calls are refused and it is logged once, until it is written again", async () => {
    const { file, writer, lines } = await openWriter({ waitMs: 60_000 });
    const lock = await lockDatabase(file);
    const waiting = writer.commit(entryOf("a", SUCCESS));
    await until(() => writer.stats().failing);
    expect(() => writer.admit()).toThrow(expect.objectContaining({ code: "AUDIT_UNAVAILABLE" }));
    await lock.release();
    await waiting;
    writer.admit();
    expect(lines.map((line) => line.level)).toEqual(["error", "info"]);
  });

  test("and rows are not required, no more than 10,000 entries wait, the oldest are lost, and calls stay quick", async () => {
    const { file, writer } = await openWriter({ required: false, waitMs: 50 });
    const lock = await lockDatabase(file);
    await writer.commit(entryOf("first", SUCCESS));
    /** How long the quickest hundred of so many calls took. */
    const quickestMs = async (from: number, to: number) => {
      let quickest = Number.POSITIVE_INFINITY;
      for (let hundred = from; hundred < to; hundred += 100) {
        const startedAtMs = performance.now();
        for (let n = hundred; n < hundred + 100; n++) {
          writer.put(entryOf(`${n}`, RUNNING));
          await writer.commit(entryOf(`${n}`, SUCCESS));
        }
        quickest = Math.min(quickest, performance.now() - startedAtMs);
      }
      return quickest;
    };
    const whileThereIsRoom = await quickestMs(0, 10_000);
    // Calls that each copied all entries to find the oldest would take a hundred times as long.
    expect(await quickestMs(10_000, 12_000)).toBeLessThan(20 * whileThereIsRoom);
    expect(writer.stats()).toMatchObject({ waiting: 10_000, lost: 2_001 });
    await lock.release();
  });

  test("closing gives up after waitMs: what is left is lost, counted and logged, and later entries too", async () => {
    const { file, writer, lines } = await openWriter({ waitMs: 100 });
    const lock = await lockDatabase(file);
    const waiting = writer.commit(entryOf("a", SUCCESS)).catch((error: unknown) => error);
    writer.put(entryOf("b", RUNNING));
    await writer.close();
    expect(await waiting).toMatchObject({ code: "AUDIT_UNAVAILABLE", executionId: "a" });
    await expect(writer.commit(entryOf("c", SUCCESS))).rejects.toMatchObject({ code: "AUDIT_UNAVAILABLE", executionId: "c" });
    expect(writer.stats()).toMatchObject({ waiting: 0, written: 0, lost: 3 });
    expect(lines.filter((line) => line.message.startsWith("an audit row is lost"))).toHaveLength(3);
    await lock.release();
  });
});

function factsOf(id: string): CallFacts {
  return {
    id,
    skillId: null,
    skillName: "skill",
    skillVersion: "1.0.0",
    apiKeyId: "owner",
    sessionId: null,
    requestId: null,
    parentId: null,
    rootId: id,
    instanceId: "instance",
    createdAt: new Date().toISOString(),
    inputText: "{}",
    inputMarks: undefined,
    outputMarks: undefined,
    idempotencyKey: null,
    requestHash: null,
  };
}
