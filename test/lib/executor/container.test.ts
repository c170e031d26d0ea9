import { expect, test } from "vitest";
import type { ContainerSpec, SkillDefinition, SkillErrorCode } from "../../../lib/index.js";
import { openEngineKit } from "../../engines/engine-kit.js";
import { eventually, nodeImage, onEachEngine, shellImage } from "../../engines/engines.js";
import { createStubEngine } from "../../engines/stub-engine.js";

const schema = { type: "object" };

function shell(script: string, container: Partial<ContainerSpec> = {}, rest: Partial<SkillDefinition> = {}): SkillDefinition {
  return { name: "work", schema, ...rest, container: { image: shellImage, command: ["sh", "-c", script], ...container } };
}

onEachEngine("a container skill", (engine) => {
  test("gets the input on stdin and answers on stdout; the row says what the sandbox saw", async () => {
    const kit = openEngineKit(engine);
    const upper = kit.define({
      name: "upper",
      schema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
      outputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
      container: {
        image: nodeImage,
        command: ["node", "main.mjs"],
        files: {
          "main.mjs": `
            let text = "";
            for await (const chunk of process.stdin) text += chunk;
            console.error("read", text.length);
            console.log(JSON.stringify({ text: JSON.parse(text).text.toUpperCase() }));`,
        },
      },
    });
    const execution = await kit.executor.execute(upper, { text: "häuser" });
    expect(execution).toMatchObject({
      status: "SUCCESS",
      output: { text: "HÄUSER" },
      attempts: 1,
      log: "read 18\n",
      sandbox: { runtime: engine.name, image: nodeImage, exitCode: 0, oomKilled: false, servedFrom: "cold" },
    });
    expect(execution.sandbox?.startupMs).toBeGreaterThan(0);
    expect(await kit.executor.getExecution(execution.id)).toEqual(execution);
    expect(kit.sandbox.stats()?.slots).toMatchObject({ hits: 0, waiting: 0 });
    await expect(kit.executor.run("upper", { text: 1 })).rejects.toMatchObject({ code: "INVALID_INPUT" });
  });

  test("that goes wrong ends in a clear error of its own code, whose text is for operators", async () => {
    const kit = openEngineKit(engine);
    // They read their input, since Podman may lose what a program printed that did not.
    const wrong: readonly [SkillDefinition, SkillErrorCode, RegExp][] = [
      [shell("cat > /dev/null; echo hello"), "INVALID_OUTPUT", /one JSON document; it printed "hello/],
      [shell("cat > /dev/null; echo 1; echo 2"), "INVALID_OUTPUT", /one JSON document/],
      [shell("cat > /dev/null; printf 1", { reply: "line" }), "INVALID_OUTPUT", /before it had printed a whole line/],
      [shell("cat > /dev/null; echo 1", {}, { outputSchema: { type: "string" } }), "INVALID_OUTPUT", /must be string/],
      [shell("cat > /dev/null; echo why >&2; exit 3"), "SKILL_FAILED", /exit code 3\. Its last words: why/],
      [shell("head -c 1000000000 /dev/zero"), "INVALID_OUTPUT", /more to its standard output than is allowed/],
      [shell("", { command: ["/nope"] }), "COMMAND_NOT_FOUND", /nope/],
      [shell("", { image: "localhost/nope:1", pull: "never" }), "IMAGE_NOT_FOUND", /localhost\/nope:1/],
    ];
    for (const [index, [definition]] of wrong.entries()) await kit.registry.register({ ...definition, name: `wrong${index}` });
    // The first use of an engine looks at its limits.
    await kit.sandbox.run(shellImage, ["true"]);
    const thrown = await Promise.allSettled(wrong.map((_, index) => kit.executor.run(`wrong${index}`, {})));
    expect(thrown).toMatchObject(wrong.map(([, code]) => ({ status: "rejected", reason: { code, expose: false } })));
    const rows = await kit.executor.listExecutions();
    for (const [index, [, errorCode, message]] of wrong.entries()) {
      const row = rows.find(({ skillName }) => skillName === `wrong${index}`);
      expect(row).toMatchObject({ status: "ERROR", errorCode, errorMessage: expect.stringMatching(message) });
    }
  });

  test("at its time limit the container is gone, and the row has its log", async () => {
    const kit = openEngineKit(engine);
    await kit.registry.register(shell("echo begun >&2; sleep 300", {}, { timeoutMs: 4_000 }));
    const execution = await kit.executor.execute("work", {});
    expect(execution).toMatchObject({
      status: "TIMEOUT",
      errorCode: "SKILL_TIMEOUT",
      log: "begun\n",
      sandbox: { runtime: engine.name, exitCode: null, servedFrom: "cold" },
    });
    expect(await eventually(async () => (await engine.containers(kit.owner)).length === 0)).toBe(true);
  });

  test("is retried as its policy says, and the log has every attempt", async () => {
    const kit = openEngineKit(engine);
    await kit.registry.register(shell("cat > /dev/null; echo no >&2; exit 1", {}, { retry: { limit: 1, backoffMs: 1 } }));
    expect(await kit.executor.execute("work", {})).toMatchObject({ status: "ERROR", attempts: 2, log: "no\nno\n" });
  });

  test("keeps its concurrency limit and its circuit", async () => {
    const kit = openEngineKit(engine);
    const policy = { concurrency: { limit: 1 }, breaker: { failures: 1 } };
    await kit.registry.register(shell("exit 1", {}, policy));
    const [first, second] = await Promise.allSettled([kit.executor.execute("work", {}), kit.executor.execute("work", {})]);
    expect(first).toMatchObject({ status: "fulfilled", value: { status: "ERROR" } });
    expect(second).toMatchObject({ status: "rejected", reason: { code: "SKILL_BUSY" } });
    await expect(kit.executor.execute("work", {})).rejects.toMatchObject({ code: "CIRCUIT_OPEN" });
  });

  test("reads the server's variables that are allowed, and none of them is stored", async () => {
    process.env["SKILLS_TEST_SECRET"] = "t0k3n-of-the-serve";
    const kit = openEngineKit(engine, { allowEnv: ["SKILLS_TEST_SECRET"] });
    const env = { TOKEN: { fromEnv: "SKILLS_TEST_SECRET" }, PLAIN: "p" };
    const script = 'cat > /dev/null; echo "token $TOKEN" >&2; test $(printf %s "$TOKEN" | wc -c) = 18 || exit 9; exit 4';
    const skill = await kit.registry.register(shell(script, { env }));
    const execution = await kit.executor.execute("work", {});
    delete process.env["SKILLS_TEST_SECRET"];
    expect(execution.errorMessage).toContain("exit code 4. Its last words: token [redacted]");
    expect(execution.log).toBe("token [redacted]\n");
    expect(JSON.stringify([skill, execution, kit.logged])).not.toContain("t0k3n");
    const gone = await kit.executor.execute("work", {});
    expect(gone).toMatchObject({ status: "ERROR", errorCode: "INVALID_ENV" });
    await expect(
      kit.registry.register(shell("", { env: { A: { fromEnv: "HOME" } } }, { version: "2.0.0" })),
    ).rejects.toMatchObject({
      code: "INVALID_DEFINITION",
      faults: [{ pointer: "/container/env/A" }],
    });
  });

  test("with slots is served warm from the first call on; a change or removal ends them, and closing leaves nothing", async () => {
    const kit = openEngineKit(engine);
    const spec = shell('read -r line; echo "$line"; echo log >&2; sleep 300', { reply: "line", warm: 1 });
    await kit.registry.register(spec);
    const waiting = (count: number) => eventually(() => kit.sandbox.stats()?.slots.waiting === count);
    expect(await waiting(1)).toBe(true);
    const execution = await kit.executor.execute("work", { n: 1 });
    expect(execution).toMatchObject({
      status: "SUCCESS",
      output: { n: 1 },
      sandbox: { servedFrom: "warm", startupMs: 0, exitCode: null },
    });
    expect(await waiting(1)).toBe(true);
    await kit.registry.setMode("work", "1.0.0", "off");
    expect(kit.sandbox.stats()?.slots).toMatchObject({ waiting: 0, hits: 1, idleDeaths: 0 });
    await kit.registry.setMode("work", "1.0.0", "on");
    expect(await kit.executor.execute("work", { n: 2 })).toMatchObject({ output: { n: 2 }, sandbox: { servedFrom: "cold" } });
    expect(await waiting(1)).toBe(true);
    await kit.registry.unregister("work");
    expect(kit.sandbox.stats()?.slots.waiting).toBe(0);
    await kit.registry.register(spec, { replace: true });
    expect(await waiting(1)).toBe(true);
    await kit.close();
    expect(await engine.containers(kit.owner)).toEqual([]);
  }, 90_000);

  test("that is cancelled is killed, and its row says so", async () => {
    const kit = openEngineKit(engine);
    await kit.registry.register(shell("read -r line; sleep 300", { warm: 1 }));
    expect(await eventually(() => kit.sandbox.stats()?.slots.waiting === 1)).toBe(true);
    const stop = new AbortController();
    const running = kit.executor.execute("work", {}, { signal: stop.signal });
    expect(await eventually(() => kit.sandbox.stats()?.slots.hits === 1)).toBe(true);
    stop.abort();
    expect(await running).toMatchObject({ status: "CANCELLED", errorCode: "SKILL_CANCELLED", sandbox: { exitCode: null } });
    await kit.close();
    expect(await engine.containers(kit.owner)).toEqual([]);
  });
});

test("the time until the program has its input does not count as the program's", async () => {
  const stub = await createStubEngine({
    run: 'sleep 2; read -r line; echo "$line"; echo waiting >&2',
    inspect: `echo '{"Status":"created","Running":false,"StartedAt":"0001-01-01T00:00:00Z"}'`,
  });
  const kit = openEngineKit({ name: "docker", environment: stub.environment }, { allowUnenforcedLimits: true });
  await kit.registry.register(shell("", {}, { timeoutMs: 1_000 }));
  expect(await kit.executor.execute("work", { n: 1 })).toMatchObject({ status: "SUCCESS", output: { n: 1 } });
});

test("an engine that does not answer is told with its own code, and not as the caller's fault", async () => {
  const stub = await createStubEngine({ version: "echo 'Cannot connect to the Docker daemon' >&2; exit 1" });
  const kit = openEngineKit({ name: "docker", environment: stub.environment });
  await kit.registry.register(shell("true"));
  expect(await kit.executor.execute("work", {})).toMatchObject({ status: "ERROR", errorCode: "SANDBOX_UNAVAILABLE" });
});
