import { describe, expect, test } from "vitest";
import { newKit, until } from "../servers.js";
import { type Api, type EventReader, identityHeaders, openApi, readEvents } from "./api.js";

const operator = identityHeaders("operator", "operator");

/** A skill that does what it is told, and an execution of it that runs. */
async function openTold(): Promise<{
  api: Api;
  url: string;
  id: string;
  tell: (line: string, count?: number) => void;
  finish: () => void;
}> {
  const kit = newKit();
  let say: (line: string, count?: number) => void = () => {};
  let finish = () => {};
  kit.define({
    name: "told",
    schema: { type: "object" },
    handler: (_input, { progress, log }) =>
      new Promise((resolve) => {
        finish = () => resolve({ done: true });
        say = (line, count = 1) => {
          for (let n = 1; n <= count; n++) {
            log(count === 1 ? line : `${line} ${n}`, { n });
            progress(n / count, line);
          }
        };
      }),
  });
  const api = await openApi({ kit });
  const { id } = await kit.executor.start("told", {}, { apiKeyId: "caller" });
  return { api, id, url: `${api.url}/executions/${id}/events`, tell: (line, count) => say(line, count), finish: () => finish() };
}

const typesOf = (events: readonly { readonly type: string }[]) => events.map(({ type }) => type);
const linesOf = (events: EventReader["events"]) => events.flatMap(({ type, data }) => (type === "log" ? [data.text] : []));

describe("the events of an execution", () => {
  test("begin with its state, go on with what is new, and end with it", async () => {
    const { url, id, tell, finish } = await openTold();
    tell("early");
    const stream = await readEvents(url, operator);
    expect([stream.status, stream.headers.get("content-type")]).toEqual([200, "text/event-stream; charset=utf-8"]);
    expect(stream.headers.get("cache-control")).toBe("no-cache, no-transform");
    await until(() => stream.events.length === 1);
    expect(stream.events[0]).toMatchObject({
      type: "state",
      data: {
        execution: { id, status: "RUNNING" },
        progress: { fraction: 1, message: "early", attempt: 1 },
        log: [{ kind: "log", text: "early", fields: { n: 1 }, attempt: 1 }],
      },
    });
    tell("late");
    await until(() => stream.events.length === 3);
    finish();
    await stream.ended;
    expect(typesOf(stream.events)).toEqual(["state", "log", "progress", "status"]);
    expect(stream.events.at(-1)?.data).toMatchObject({ id, status: "SUCCESS", output: { done: true } });
    expect(new Set(stream.events.map(({ id: eventId }) => eventId)).size).toBe(4);
  });

  test("of one that has ended are its state, with what it said", async () => {
    const { url, tell, finish, api, id } = await openTold();
    tell("said");
    finish();
    await until(async () => (await api.kit.executor.getExecution(id))?.status === "SUCCESS");
    const stream = await readEvents(url, operator);
    await stream.ended;
    expect(typesOf(stream.events)).toEqual(["state"]);
    expect(stream.events[0]?.data).toMatchObject({ execution: { status: "SUCCESS" }, log: [{ text: "said" }] });
  });

  test("have neither lines nor internal errors for callers", async () => {
    const api = await openApi();
    const { id } = await api.kit.executor.start("waits", {}, { apiKeyId: "caller" });
    const stream = await readEvents(`${api.url}/executions/${id}/events`, identityHeaders("caller", "caller"));
    await until(() => stream.events.length === 1);
    expect(stream.events[0]?.data).toMatchObject({ progress: { fraction: 0.25, message: "begun" }, log: [] });
    await api.kit.executor.cancel(id);
    await stream.ended;
    expect(stream.events.at(-1)).toMatchObject({ type: "status", data: { status: "CANCELLED" } });
    const failed = await api.kit.executor.execute("fails", {}, { apiKeyId: "caller" });
    const after = await readEvents(`${api.url}/executions/${failed.id}/events`, identityHeaders("caller", "caller"));
    await after.ended;
    expect(JSON.stringify(after.events)).not.toContain("hunter2");
  });

  test("have no secrets of a line's fields for operators either", async () => {
    const api = await openApi();
    const { id } = await api.kit.executor.start("waits", {}, { apiKeyId: "caller" });
    const stream = await readEvents(`${api.url}/executions/${id}/events`, operator);
    await until(() => stream.events.length === 1);
    expect(stream.events[0]?.data.log).toMatchObject([{ text: "waiting", fields: { password: "[redacted]", table: "rows" } }]);
  });

  test("go on where a client was that comes back", async () => {
    const { url, tell, finish } = await openTold();
    const first = await readEvents(url, operator);
    tell("one");
    await until(() => linesOf(first.events).includes("one") || first.events[0]?.data.log.length === 1);
    const last = first.events.at(-1)?.id ?? "";
    first.close();
    tell("two");
    const second = await readEvents(url, { ...operator, "last-event-id": last });
    tell("three");
    await until(() => linesOf(second.events).includes("three"));
    finish();
    await second.ended;
    expect(typesOf(second.events)).not.toContain("state");
    expect(linesOf(second.events)).toEqual(["two", "three"]);
    expect(second.events.at(-1)?.data).toMatchObject({ status: "SUCCESS" });
  });

  test.each(["unknown", "1", "a.b.c", "x".repeat(5_000)])(
    "begin with the state for a client with the unknown id %j",
    async (last) => {
      const { url } = await openTold();
      const stream = await readEvents(url, { ...operator, "last-event-id": last });
      await until(() => stream.events.length > 0);
      expect(stream.events[0]?.type).toBe("state");
    },
  );

  test("begin with the state for a client that missed more than is remembered", async () => {
    const { url, tell } = await openTold();
    const first = await readEvents(url, operator);
    await until(() => first.events.length === 1);
    const last = first.events[0]?.id ?? "";
    first.close();
    tell("many", 500);
    const second = await readEvents(url, { ...operator, "last-event-id": last });
    await until(() => second.events.length > 0);
    expect(second.events[0]?.data.log.at(-1).text).toBe("many 500");
    expect(second.events[0]?.data.log).toHaveLength(100);
  });

  test("of a handler that says more than can be sent are the last of it, with how many are missing", async () => {
    const { url, tell, finish } = await openTold();
    const stream = await readEvents(url, operator);
    await until(() => stream.events.length === 1);
    tell("flood", 100_000);
    finish();
    await stream.ended;
    expect(typesOf(stream.events).filter((type) => type !== "log")).toEqual(["state", "gap", "progress", "status"]);
    expect(stream.events.find(({ type }) => type === "gap")?.data).toEqual({ lines: 99_900 });
    expect(linesOf(stream.events)).toHaveLength(100);
    expect(linesOf(stream.events).at(-1)).toBe("flood 100000");
  });

  test("reach a client although the execution runs in another kit on the same database", async () => {
    const { mkdtemp, rm } = await import("node:fs/promises");
    const { tmpdir } = await import("node:os");
    const { join } = await import("node:path");
    const folder = await mkdtemp(join(tmpdir(), "express-skills-test-"));
    try {
      const database = join(folder, "skills.db");
      const [here, there] = [newKit({ database }), newKit({ database })];
      let finish = () => {};
      there.define({
        name: "elsewhere",
        schema: { type: "object" },
        handler: () => new Promise<null>((resolve) => (finish = () => resolve(null))),
      });
      const api = await openApi({ kit: here });
      const { id } = await there.executor.start("elsewhere", {}, { apiKeyId: "caller" });
      await until(async () => (await here.executor.getExecution(id)) !== undefined);
      const stream = await readEvents(`${api.url}/executions/${id}/events`, operator);
      await until(() => stream.events.length === 1);
      finish();
      await stream.ended;
      expect(stream.events.at(-1)).toMatchObject({ type: "status", data: { status: "SUCCESS" } });
      await Promise.all([here.close({ graceMs: 0 }), there.close({ graceMs: 0 })]);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  test("end when the kit closes", async () => {
    const { url, api } = await openTold();
    const [one, all] = await Promise.all([readEvents(url, operator), readEvents(`${api.url}/executions/events`, operator)]);
    await until(() => one.events.length === 1 && all.events.length === 1);
    await api.kit.close({ graceMs: 0 });
    await Promise.all([one.ended, all.ended]);
    expect(one.events.at(-1)?.data.status).toBe("CANCELLED");
  });
});

describe("the live feed", () => {
  test("begins with the newest executions, and has each change of every owner's", async () => {
    const api = await openApi();
    const before = await api.kit.executor.execute("echo", { text: "before" }, { apiKeyId: "a" });
    const stream = await readEvents(`${api.url}/executions/events`, operator);
    await until(() => stream.events.length === 1);
    expect(stream.events[0]?.data.items).toEqual([expect.objectContaining({ id: before.id, status: "SUCCESS" })]);
    await api.kit.executor.execute("fails", {}, { apiKeyId: "b" });
    await api.kit.executor.execute("echo", { text: 1 }, { apiKeyId: "c" }).catch(() => {});
    await until(() => stream.events.length === 4);
    expect(stream.events.slice(1).map(({ type, data }) => [type, data.apiKeyId, data.status])).toEqual([
      ["status", "b", "RUNNING"],
      ["status", "b", "ERROR"],
      ["status", "c", "DENIED"],
    ]);
    expect(stream.events.every(({ data }) => !("input" in data))).toBe(true);
  });

  test("goes on where a client was, while another one watches; else it begins again", async () => {
    const api = await openApi();
    const url = `${api.url}/executions/events`;
    const [stays, leaves] = await Promise.all([readEvents(url, operator), readEvents(url, operator)]);
    await until(() => stays.events.length === 1 && leaves.events.length === 1);
    await api.kit.executor.execute("echo", { text: "a" });
    await until(() => leaves.events.length === 3);
    leaves.close();
    await api.kit.executor.execute("echo", { text: "b" });
    const back = await readEvents(url, { ...operator, "last-event-id": leaves.events.at(-1)?.id ?? "" });
    await until(() => back.events.length === 2);
    expect(typesOf(back.events)).toEqual(["status", "status"]);
    back.close();
    stays.close();
    await until(() => watchedBy(api) === 0);
    const again = await readEvents(url, { ...operator, "last-event-id": leaves.events.at(-1)?.id ?? "" });
    await until(() => again.events.length === 1);
    expect(again.events[0]?.type).toBe("state");
  });

  test("says how many changes it left out when there are too many", async () => {
    const api = await openApi();
    const stream = await readEvents(`${api.url}/executions/events`, operator);
    await until(() => stream.events.length === 1);
    const { events } = api.kit.executor;
    const { id } = await api.kit.executor.execute("echo", { text: "a" });
    const execution = await api.kit.executor.getExecution(id);
    if (execution === undefined) throw new Error("The execution is gone.");
    for (let n = 0; n < 10_000; n++) events.status(`id-${n}`, () => ({ ...execution, id: `id-${n}` }));
    await until(() => stream.events.at(-1)?.data.id === "id-9999");
    const gap = stream.events.find(({ type }) => type === "gap")?.data.changes;
    expect(gap).toBeGreaterThan(9_000);
    expect(gap + stream.events.filter(({ type }) => type === "status").length).toBe(10_002);
  });
});

/** How many watchers the kit's events have: asked by a status that counts who wants it. */
function watchedBy(api: Api): number {
  let asked = 0;
  api.kit.executor.events.status("nobody", () => {
    asked++;
    return {} as never;
  });
  return asked;
}
