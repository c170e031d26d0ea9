import { Agent, request as httpRequest } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { parallel, respond, type SkillsMiddleware, skill, skillErrors } from "../../middleware/index.js";
import { memoryLogger, newKit, post, serve, until, versions } from "./servers.js";

describe.each(versions)("a client that leaves, on Express $version", ({ express }) => {
  /** `slowMs`: how long the skill takes that nobody ends; where its client leaves, longer than the test may take. */
  function newApp(slowMs = 600_000) {
    const logger = memoryLogger();
    const kit = newKit({ logger });
    const seen = { started: 0, reasons: [] as unknown[], afterwards: [] as string[], errors: [] as unknown[] };
    const slow = kit.define({
      name: "slow",
      schema: { type: "object" },
      handler: (_input, { signal }) => {
        seen.started++;
        return new Promise((resolve, reject) => {
          const timer = setTimeout(() => resolve("done"), slowMs);
          signal.addEventListener("abort", () => {
            clearTimeout(timer);
            seen.reasons.push(signal.reason);
            reject(signal.reason);
          });
        });
      },
    });
    const app = express().use(express.json()).use(kit);
    /** Notes whatever runs behind the step. */
    const finish = async () => {
      // A client that leaves early must not find it opening.
      await kit.ready();
      app.use((req, _res, next) => {
        seen.afterwards.push(req.path);
        next();
      });
      app.use(((error: unknown, _req: unknown, _res: unknown, next: (error: unknown) => void) => {
        seen.errors.push(error);
        next(error);
      }) as never);
      return serve(app.use(skillErrors()));
    };
    return { app, kit, logger, seen, slow, finish };
  }

  test("a POST is not aborted by its own close: the body is read, the client waits", async () => {
    const { app, slow, seen, finish } = newApp(600);
    app.post("/", skill(slow), respond());
    const answer = await post(await finish(), { text: "x".repeat(10_000) });
    expect([answer.status, answer.body, seen.reasons]).toEqual([200, "done", []]);
  });

  test("the call is aborted and recorded as cancelled, and the route ends there", async () => {
    const { app, kit, logger, slow, seen, finish } = newApp();
    app.post("/", skill(slow, { onError: "continue" }), skill(slow, { as: "second" }), respond());
    const url = await finish();
    await leaveWhen(url, () => seen.started === 1);
    await cancelled(kit, 1);
    expect(seen.reasons).toMatchObject([{ code: "SKILL_CANCELLED" }]);
    await delay(50);
    expect([seen.started, seen.afterwards, seen.errors]).toEqual([1, [], []]);
    expect(logger.lines.filter((line) => line.level === "error")).toEqual([]);
  });

  test("every call of a group is aborted", async () => {
    const { app, kit, slow, seen, finish } = newApp();
    app.post("/", parallel(skill(slow, { as: "a" }), skill(slow, { as: "b" })), respond());
    await leaveWhen(await finish(), () => seen.started === 2);
    await cancelled(kit, 2);
    expect(seen.errors).toEqual([]);
  });

  test("req.skills.run() is aborted, and what the route's handler makes of it is not sent", async () => {
    const { app, kit, logger, slow, seen, finish } = newApp();
    app.post("/", (req, res, next) => {
      req.skills.run(slow, {}).then((value) => res.json(value), next);
    });
    await leaveWhen(await finish(), () => seen.started === 1);
    await cancelled(kit, 1);
    await until(() => seen.errors.length === 1);
    expect(seen.errors).toMatchObject([{ code: "SKILL_CANCELLED" }]);
    expect(logger.lines.filter((line) => line.level === "error")).toEqual([]);
  });

  test("a step that is reached after the client has left runs nothing", async () => {
    const { app, slow, seen, finish } = newApp();
    let [arrived, reached] = [0, 0];
    app.post(
      "/",
      (_req, res, next) => {
        arrived++;
        res.once("close", () =>
          setImmediate(() => {
            reached++;
            next();
          }),
        );
      },
      skill(slow),
      respond(),
    );
    await leaveWhen(await finish(), () => arrived === 1);
    await until(() => reached === 1);
    await delay(30);
    expect([seen.started, seen.afterwards, seen.errors]).toEqual([0, [], []]);
  });

  test("after the answer is finished nothing aborts, and no listener stays on a kept connection", async () => {
    const { app, kit, finish } = newApp();
    const quick = kit.define({ name: "quick", schema: { type: "object" }, handler: () => 1 });
    const signals: AbortSignal[] = [];
    const responses: { listenerCount(event: string): number }[] = [];
    app.post(
      "/",
      (req, res, next) => {
        responses.push(res);
        signals.push(req.skills.signal);
        next();
      },
      skill(quick),
      respond(),
    );
    const url = await finish();
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    try {
      for (let call = 0; call < 3; call++) await sendWith(agent, url);
    } finally {
      agent.destroy();
    }
    await until(() => responses.every((response) => response.listenerCount("close") === 0));
    await delay(50);
    expect(signals.map((signal) => signal.aborted)).toEqual([false, false, false]);
  });

  test("work that goes on after the answer was sent is not aborted by the connection's end", async () => {
    const { app, kit, slow, finish } = newApp(600);
    app.post("/", (req, res) => {
      res.json("accepted");
      res.once("close", () => void req.skills.run(slow, {}).catch(() => {}));
    });
    const agent = new Agent({ keepAlive: false });
    await sendWith(agent, await finish());
    await until(async () => (await kit.executor.countExecutions({ status: "SUCCESS" })) === 1);
  });
});

async function cancelled(kit: SkillsMiddleware, count: number): Promise<void> {
  await until(async () => (await kit.executor.countExecutions({ status: "CANCELLED" })) === count);
}

/** Sends a POST and destroys its socket once `isTime`. */
async function leaveWhen(url: string, isTime: () => boolean): Promise<void> {
  const request = httpRequest(url, { method: "POST", headers: { "content-type": "application/json" } });
  request.on("error", () => {});
  request.end("{}");
  await until(isTime);
  request.destroy();
}

function sendWith(agent: Agent, url: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { method: "POST", agent, headers: { "content-type": "application/json" } }, (response) => {
      response.resume().on("end", resolve).on("error", reject);
    });
    request.on("error", reject).end("{}");
  });
}
