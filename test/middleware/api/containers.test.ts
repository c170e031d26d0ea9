import { describe, expect, test } from "vitest";
import type { ContainerSpec } from "../../../middleware/index.js";
import { engineOptions, useEngine } from "../../engines/engine-kit.js";
import { onEachEngine, shellImage, type TestEngine } from "../../engines/engines.js";
import { newKit, until } from "../servers.js";
import { type Api, identityHeaders, openApi, openDocument, readEvents } from "./api.js";

const definition = { name: "contained", schema: { type: "object" } };

function register(api: Api, container: object) {
  return api.as("admin")("POST", "skills", { body: { ...definition, container } });
}

describe("registering a skill that is a container", () => {
  test("takes an image that the operator allows, also below a repository, and gives its definition back", async () => {
    const api = await openApi({ kit: newKit({ sandbox: { images: ["tools/shell", "node:22"] } }) });
    const { check } = await openDocument(api);
    const container = { image: "tools/shell:1", command: ["cat"], files: { "a.txt": "a" }, reply: "line", memoryMb: 64 };
    const answer = await register(api, container);
    expect([answer.status, answer.body.container, answer.body.handler]).toEqual([201, container, null]);
    check("POST", "skills", answer);
    const read = await api.as("admin")("GET", "skills/contained/versions/1.0.0");
    expect(read.body.container).toEqual(container);
    check("GET", "skills/{name}/versions/{version}", read);
    check("POST", "skills", await register(api, { ...container, image: "tools/other" }));
  });

  test.each([["evil/miner"], ["tools/shell.evil"], ["evil/tools/shell"], ["node:23"], ["node"]])(
    "refuses the image %s",
    async (image) => {
      const api = await openApi({ kit: newKit({ sandbox: { images: ["tools/shell", "node:22"] } }) });
      const answer = await register(api, { image, command: ["cat"] });
      expect([answer.status, answer.body.code]).toEqual([403, "IMAGE_NOT_ALLOWED"]);
      expect(await api.kit.registry.getSkillVersions("contained")).toEqual([]);
    },
  );

  test("refuses every image while the operator names none", async () => {
    const answer = await register(await openApi(), { image: "alpine", command: ["cat"] });
    expect([answer.status, answer.body.code]).toEqual([403, "IMAGE_NOT_ALLOWED"]);
    expect(answer.body.detail).toContain("sandbox.images");
  });

  test.each([
    ["network", { network: "host" }],
    ["network", { network: "bridge" }],
    ["user", { user: "0" }],
    ["memoryMb", { memoryMb: 100_000 }],
    ["cpus", { cpus: 64 }],
    ["env/TOKEN", { env: { TOKEN: { fromEnv: "DATABASE_URL" } } }],
    ["privileged", { privileged: true }],
    ["command", { command: [] }],
  ])("refuses a container that asks for too much: %s", async (pointer, more) => {
    const api = await openApi({ kit: newKit({ sandbox: { images: ["alpine"] } }) });
    const answer = await register(api, { image: "alpine", command: ["cat"], ...more });
    expect([answer.status, answer.body.code]).toEqual([422, "INVALID_DEFINITION"]);
    expect(answer.body.faults.map((fault: { pointer: string }) => fault.pointer)).toEqual([`/container/${pointer}`]);
  });

  test("shows callers no container of another owner", async () => {
    const api = await openApi({ kit: newKit({ sandbox: { images: ["alpine"] } }) });
    const container = { image: "alpine", command: ["sh", "-c", "internal"], env: { PASSWORD: "hunter2" } };
    await register(api, container);
    const shown = await api.as("caller")("GET", "skills/contained/versions/1.0.0");
    expect(shown.body.container).toBeNull();
    expect(shown.text).not.toMatch(/alpine|internal|hunter2/);
  });
});

onEachEngine("a container skill over the API", (engine) => {
  async function open(container: Omit<ContainerSpec, "image">): Promise<Api> {
    const api = await openApi({ kit: kitOf(engine) });
    expect((await register(api, { image: shellImage, ...container })).status).toBe(201);
    return api;
  }

  test("shows operators its facts and its standard error, and callers neither", { timeout: 120_000 }, async () => {
    const api = await open({
      command: ["sh", "-c", 'read -r line; echo "internal words" >&2; echo "$line"; test "$line" = "{}"'],
    });
    const { check } = await openDocument(api);
    const run = "skills/contained/executions";
    const done = await api.as("operator")("POST", run, { body: {} });
    const sandbox = { runtime: engine.name, image: shellImage, exitCode: 0, oomKilled: false, servedFrom: "cold" };
    expect(done.body).toMatchObject({ status: "SUCCESS", output: {}, sandbox, log: "internal words\n" });
    const failed = await api.as("caller")("POST", run, { body: { a: 1 } });
    expect(failed.body).toMatchObject({ status: "ERROR", errorCode: "SKILL_FAILED" });
    for (const role of ["operator", "caller"] as const) {
      const call = api.as(role);
      const one = await call("GET", `executions/${failed.body.id}`);
      const tree = await call("GET", `executions/${failed.body.id}/tree`);
      const list = await call("GET", "executions");
      const { text: events } = await call("GET", `executions/${failed.body.id}/events`);
      check("GET", "executions/{id}", one);
      check("GET", "executions/{id}/tree", tree);
      check("GET", "executions", list);
      if (role === "caller")
        expect([one, tree, list].map(({ text }) => text).join() + events).not.toMatch(/internal words|shell:1/);
      else {
        expect(one.body).toMatchObject({ log: "internal words\n", sandbox: { exitCode: 1 } });
        expect(events).toContain("internal words");
        expect(list.body.items[0]).toMatchObject({ sandbox: { exitCode: 1 } });
        expect(list.body.items[0]).not.toHaveProperty("log");
      }
    }
    const engines = await api.as("operator")("GET", "engines");
    check("GET", "engines", engines);
    expect(engines.body).toMatchObject({ sandbox: { engine: engine.name }, problem: null, stats: { running: 0 } });
  });

  test("sends its standard error as events while it runs, and ends it on cancel", { timeout: 120_000 }, async () => {
    const command = ["sh", "-c", "read -r line; echo one >&2; echo two >&2; sleep 300"];
    const api = await open({ command });
    const begun = await api.as("operator")("POST", "skills/contained/executions", { headers: { prefer: "respond-async" } });
    const stream = await readEvents(`${api.url}/executions/${begun.body.id}/events`, identityHeaders("operator", "operator"));
    const lines = () =>
      stream.events.flatMap(({ type, data }) => (type === "stderr" ? [data] : type === "state" ? data.log : []));
    await until(() => lines().length === 2, 60_000);
    expect(lines()).toMatchObject([
      { kind: "stderr", text: "one" },
      { kind: "stderr", text: "two" },
    ]);
    expect(api.kit.executor.isRunning(begun.body.id)).toBe(true);
    expect((await api.as("operator")("POST", `executions/${begun.body.id}/cancel`)).status).toBe(202);
    await stream.ended;
    expect(stream.events.at(-1)).toMatchObject({ type: "status", data: { status: "CANCELLED", log: "one\ntwo\n" } });
  });
});

function kitOf(engine: TestEngine) {
  useEngine(engine.environment);
  return newKit({ sandbox: { ...engineOptions(engine), images: [shellImage] } });
}
