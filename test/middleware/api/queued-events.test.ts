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
