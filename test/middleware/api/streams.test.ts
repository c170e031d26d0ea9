import { type ClientRequest, type IncomingMessage, request } from "node:http";
import { connect, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import type { SkillExecution } from "../../../middleware/index.js";
import { send, until } from "../servers.js";
import { type Api, identityHeaders, openApi, readEvents } from "./api.js";

const operator = identityHeaders("operator", "operator");

interface OpenStream {
  readonly sent: ClientRequest;
  readonly response: IncomingMessage;
  text: string;
}

function open(url: string, headers: Record<string, string> = operator): Promise<OpenStream> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { headers, agent: false });
    sent.on("error", reject);
    sent.on("response", (response) => {
      const stream: OpenStream = { sent, response, text: "" };
      response.setEncoding("utf8").on("data", (text: string) => {
        stream.text += text;
      });
      response.on("error", () => {});
      resolve(stream);
    });
    sent.end();
  });
}

/** How many streams of an API are watching: those of one execution, or of all. */
function isWatched(api: Api, id = "nobody"): boolean {
  let asked = false;
  api.kit.executor.events.status(id, () => {
    asked = true;
    return { id, finishedAt: null } as SkillExecution<unknown>;
  });
  return asked;
}

test("a thousand streams are open at once, each gets every event, one more is refused, and none leaves anything behind", async () => {
  const api = await openApi();
  const { id } = await api.kit.executor.start("waits", {}, { apiKeyId: "caller" });
  const streams: OpenStream[] = [];
  for (let batch = 0; batch < 10; batch++) {
    const opened = Array.from({ length: 100 }, (_, n) =>
      open(`${api.url}/${n % 2 === 0 ? `executions/${id}/events` : "executions/events"}`),
    );
    streams.push(...(await Promise.all(opened)));
  }
  expect(streams.every(({ response }) => response.statusCode === 200)).toBe(true);
  const refused = await send(`${api.url}/executions/events`, { headers: operator });
  expect(refused.body).toMatchObject({ status: 503, code: "STREAM_LIMIT" });
  expect(refused.headers.get("retry-after")).toBe("5");
  expect((await send(`${api.url}/executions/${id}/events`, { headers: operator })).status).toBe(503);

  // Everything else still works.
  expect((await api.as("caller")("POST", "skills/echo/executions", { body: { text: "a" } })).status).toBe(201);
  await api.kit.executor.cancel(id);
  await until(() => streams.every(({ text }) => text.includes('"CANCELLED"')));

  for (const { sent } of streams) sent.destroy();
  await until(() => !isWatched(api));
  expect(isWatched(api, id)).toBe(false);
  const again = await open(`${api.url}/executions/events`);
  expect(again.response.statusCode).toBe(200);
  again.sent.destroy();
});

test("a stream that ended makes room for another one", async () => {
  const api = await openApi({ maxStreams: 1 });
  const { id } = await api.kit.executor.execute("echo", { text: "a" });
  for (let n = 0; n < 5; n++) {
    const stream = await readEvents(`${api.url}/executions/${id}/events`, operator);
    expect(stream.status).toBe(200);
    await stream.ended;
  }
  const left = await open(`${api.url}/executions/events`);
  left.sent.destroy();
  await until(async () => {
    const next = await open(`${api.url}/executions/events`);
    next.sent.destroy();
    return next.response.statusCode === 200;
  });
});

test("a reader that does not read is dropped, and others go on", async () => {
  const api = await openApi();
  const { id } = await api.kit.executor.execute("echo", { text: "a" });
  const execution = (await api.kit.executor.getExecution(id)) as SkillExecution<unknown>;
  const reader = await readEvents(`${api.url}/executions/events`, operator);
  const slow = await openUnread(api);
  let dropped = false;
  slow.on("close", () => {
    dropped = true;
  });
  let last = "";
  const big = "x".repeat(500);
  for (let round = 0; round < 400 && !dropped; round++) {
    for (let n = 0; n < 200; n++) {
      last = `${round}-${n}`;
      api.kit.executor.events.status(last, () => ({ ...execution, id: last, errorMessage: big }));
    }
    await new Promise((resolve) => setTimeout(resolve, 60));
    // A paused socket notices its end when it tries to write.
    slow.write(" ");
  }
  expect(dropped).toBe(true);
  await until(() => reader.events.at(-1)?.data.id === last);
});

/** A connection that asks for the feed, and reads nothing of the answer. */
async function openUnread(api: Api): Promise<Socket> {
  const { hostname, port } = new URL(api.url);
  const socket = connect(Number(port), hostname);
  onTestFinished(() => void socket.destroy());
  socket.on("error", () => {});
  socket.pause();
  const headers = Object.entries({ host: hostname, ...operator }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`GET /api/executions/events HTTP/1.1\r\n${headers.join("")}\r\n`);
  await until(() => isWatched(api));
  return socket;
}
