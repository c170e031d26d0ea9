import { expect, test } from "vitest";
import { newDatabase } from "../../fixtures/database.js";
import { newKit, until } from "../servers.js";
import { identityHeaders, openApi, readEvents } from "./api.js";

test("the events of queued work that another kit runs have its states, progress and lines, each once", async () => {
  const database = newDatabase();
  const web = newKit({ database, worker: false });
  await web.registry.register({ name: "told", schema: { type: "object" }, handler: "told" });
  const api = await openApi({ kit: web });
  const caller = api.as("caller");
  const { body } = await caller("POST", "skills/told/executions", { headers: { prefer: "respond-async" } });
  const stream = await readEvents(`${api.url}/executions/${body.id}/events`, identityHeaders("operator", "operator"));
  await until(() => stream.events.length === 1);
  expect(stream.events[0]).toMatchObject({ type: "state", data: { execution: { status: "QUEUED" }, progress: null, log: [] } });

  const worker = newKit({ database, worker: {} });
  let goOn = () => {};
  worker.executor.registerHandler("told", async (_input, { progress, log }) => {
    log("begun", { password: "hunter2", table: "rows" });
    progress(0.5, "half");
    await new Promise<void>((resolve) => {
      goOn = resolve;
    });
    log("ending");
    return { done: true };
  });
  await worker.ready();
  await until(() => stream.events.some(({ type }) => type === "progress"));
  goOn();
  await stream.ended;
  const lines = stream.events.filter(({ type }) => type === "log").map(({ data }) => data);
  expect(lines).toMatchObject([{ text: "begun", fields: { password: "[redacted]", table: "rows" } }, { text: "ending" }]);
  expect(stream.events.filter(({ type }) => type === "progress")).toHaveLength(1);
  const statuses = stream.events.filter(({ type }) => type === "status").map(({ data }) => data.status);
  expect(statuses).toEqual(["RUNNING", "SUCCESS"]);
  expect(stream.events.at(-1)).toMatchObject({ type: "status", data: { status: "SUCCESS", output: { done: true } } });

  const late = await readEvents(`${api.url}/executions/${body.id}/events`, identityHeaders("caller", "caller"));
  await late.ended;
  expect(late.events).toMatchObject([{ type: "state", data: { progress: { fraction: 0.5, message: "half" }, log: [] } }]);
});

/** A kit for the web that takes no work, its API, and one that does the work of the skill `held`, until it is let go or cancelled. */
async function openTwo() {
  const database = newDatabase();
  const web = newKit({ database, worker: false });
  await web.registry.register({ name: "held", schema: { type: "object" }, handler: "held" });
  const api = await openApi({ kit: web });
  const worker = newKit({ database, worker: {} });
  let goOn = () => {};
  worker.executor.registerHandler(
    "held",
    (_input, { signal }) =>
      new Promise((resolve, reject) => {
        goOn = () => resolve({ done: true });
        signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      }),
  );
  await worker.ready();
  const enqueue = async (): Promise<string> => {
    const { body } = await api.as("caller")("POST", "skills/held/executions", { headers: { prefer: "respond-async" } });
    return body.id;
  };
  return { api, worker, enqueue, goOn: () => goOn() };
}

const operator = identityHeaders("operator", "operator");

test("the live feed has what other kits on the database do: queued work, and calls of their own", async () => {
  const { api, worker, enqueue, goOn } = await openTwo();
  const feed = await readEvents(`${api.url}/executions/events`, operator);
  await until(() => feed.events.length === 1);
  const statusesOf = (id: string) =>
    feed.events.flatMap(({ type, data }) => (type === "status" && data.id === id ? [data.status] : []));
  const id = await enqueue();
  await until(() => statusesOf(id).includes("RUNNING"));
  goOn();
  await until(() => statusesOf(id).includes("SUCCESS"));
  expect(statusesOf(id).filter((status) => status !== "QUEUED")).toEqual(["RUNNING", "SUCCESS"]);
  const own = await worker.executor.start("held", {}, { apiKeyId: "another owner" });
  await until(() => statusesOf(own.id).includes("RUNNING"));
  goOn();
  await until(() => statusesOf(own.id).includes("SUCCESS"));
  expect(feed.events.at(-1)?.data).toMatchObject({ id: own.id, apiKeyId: "another owner", skillName: "held" });
  expect(new Set(feed.events.map((event) => event.id)).size).toBe(feed.events.length);
  expect(feed.events.filter(({ type }) => type === "gap")).toEqual([]);
});

test("the live feed tells of a gap when other kits do more than it tells", async () => {
  const { api, worker } = await openTwo();
  worker.define({ name: "quick", schema: { type: "object" }, handler: () => null });
  const feed = await readEvents(`${api.url}/executions/events`, operator);
  await until(() => feed.events.length === 1);
  await Promise.all(Array.from({ length: 1_500 }, () => worker.executor.execute("quick", {})));
  await until(() => feed.events.some(({ type }) => type === "gap"));
  const { id } = await worker.executor.execute("quick", {});
  await until(() => feed.events.some(({ data }) => data.id === id));
});

test("cancelling over the API ends queued work that another kit runs, and its events say so", async () => {
  const { api, enqueue } = await openTwo();
  const id = await enqueue();
  const stream = await readEvents(`${api.url}/executions/${id}/events`, operator);
  const statuses = () => stream.events.map(({ data }) => (data.execution ?? data).status);
  await until(() => statuses().includes("RUNNING"));
  const answer = await api.as("caller")("POST", `executions/${id}/cancel`);
  expect(answer.status).toBe(202);
  await stream.ended;
  expect(stream.events.at(-1)).toMatchObject({ type: "status", data: { id, status: "CANCELLED", errorCode: "SKILL_CANCELLED" } });
});

test("a call that is made in queued work has its progress and lines in other kits, up to its end", async () => {
  const { api, worker, goOn } = await openTwo();
  let end = () => {};
  worker.define({
    name: "inner",
    schema: { type: "object" },
    handler: async (_input, { progress, log }) => {
      progress(0.5, "half");
      log("begun", { password: "hunter2" });
      await new Promise<void>((resolve) => {
        end = resolve;
      });
      log("ending");
    },
  });
  worker.define({
    name: "outer",
    schema: { type: "object" },
    handler: async (_input, { run }) => {
      await run("inner", {});
      await run("held", {});
    },
  });
  await worker.ready();
  const caller = api.as("caller");
  const { body } = await caller("POST", "skills/outer/executions", { headers: { prefer: "respond-async" } });
  const inner = async () => (await caller("GET", `executions/${body.id}/tree`)).body.root.children[0]?.id;
  await until(async () => (await inner()) !== undefined);
  const stream = await readEvents(`${api.url}/executions/${await inner()}/events`, operator);
  const lines = () =>
    stream.events.flatMap(({ type, data }) => (type === "state" ? data.log : type === "log" ? [data] : [])) as unknown[];
  await until(() => lines().length === 1);
  end();
  await stream.ended;
  expect(stream.events.at(-1)).toMatchObject({ type: "status", data: { skillName: "inner", status: "SUCCESS" } });
  expect(lines()).toMatchObject([{ text: "begun", fields: { password: "[redacted]" } }, { text: "ending" }]);
  expect(JSON.stringify(stream.events)).toContain('"message":"half"');
  goOn();
  await until(async () => (await caller("GET", `executions/${body.id}`)).body.status === "SUCCESS");
});
