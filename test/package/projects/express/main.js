import assert from "node:assert/strict";
import { once } from "node:events";
import express from "express";
import { respond, skill, skillErrors, skills } from "express-skills";

const kit = skills({ database: "javascript.db" });
kit.define({
  name: "summarise",
  schema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  handler: ({ text }) => ({ summary: text.slice(0, 5) }),
});

const app = express();
app.use(express.json());
app.use(kit);
app.post("/summaries", skill("summarise@^1.0.0"), respond());
app.use(skillErrors());

const server = app.listen(0, "127.0.0.1");
await once(server, "listening");
const url = `http://127.0.0.1:${server.address().port}/summaries`;

const good = await post({ text: "Hello, world" });
assert.deepEqual([good.status, await good.json()], [200, { summary: "Hello" }]);
const bad = await post({});
assert.deepEqual([bad.status, (await bad.json()).code], [422, "INVALID_INPUT"]);
const executions = await kit.executor.listExecutions({});
assert.deepEqual(
  executions.map(({ status }) => status),
  ["DENIED", "SUCCESS"],
);

server.close();
await kit.close();
console.log("works");

function post(body) {
  return fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
}
