import { expect, test } from "vitest";
import type { ContainerSpec } from "../../../lib/types.js";
import { eventually, nodeImage, onEachEngine, shellImage } from "../../engines/engines.js";

const call = { owner: "system", timeoutMs: 30_000 };
const shell = (script: string, more: Partial<ContainerSpec> = {}): ContainerSpec => ({
  image: shellImage,
  command: ["sh", "-c", script],
  ...more,
});

/** Reads the input first: Podman may lose what a program printed that ends while input is waiting. */
const print = (script: string, more: Partial<ContainerSpec> = {}): ContainerSpec => shell(`cat > /dev/null; ${script}`, more);

onEachEngine("container skills", (engine) => {
  test("a program gets one JSON document and answers with another", async () => {
    const program =
      "let s='';process.stdin.on('data',d=>s+=d).on('end',()=>console.log(JSON.stringify({got:JSON.parse(s),ended:s.endsWith('\\n')})))";
    const input = { text: "l1\nl2 €", list: [1, null] };
    const reply = await engine.shared.serve({ image: nodeImage, command: ["node", "-e", program] }, input, call);
    expect(reply).toMatchObject({
      output: { got: input, ended: true },
      error: null,
      result: { runtime: engine.name, exitCode: 0, servedFrom: "cold" },
    });
  });

  test("text output is given as it is", async () => {
    const reply = await engine.shared.serve(shell("cat; echo more", { output: "text" }), { a: 1 }, call);
    expect(reply.output).toBe('{"a":1}\nmore\n');
  });

  test("with reply line the first line is the answer, whatever the program does afterwards", async () => {
    const sandbox = engine.sandbox();
    const reply = await sandbox.serve(shell('read -r line; echo "$line"; sleep 300', { reply: "line" }), { n: 1 }, call);
    expect(reply).toMatchObject({ output: { n: 1 }, error: null });
    expect(await eventually(async () => (await engine.containers()).length === 0)).toBe(true);
    const both = await sandbox.serve(print('echo "1"; echo "2"', { reply: "line" }), null, call);
    expect(both.output).toBe(1);
  });

  test.each([
    ["no JSON", print("echo hello"), "INVALID_OUTPUT", /one JSON document; it printed "hello/],
    ["nothing", shell("true"), "INVALID_OUTPUT", /it printed nothing/],
    ["two lines", print("echo 1; echo 2"), "INVALID_OUTPUT", /one JSON document/],
    ["half a line", print("printf '{\"a\":'", { reply: "line" }), "INVALID_OUTPUT", /before it had printed a whole line after/],
    ["no line", shell("true", { reply: "line" }), "INVALID_OUTPUT", /before it had printed a whole line/],
    ["an exit code", print("echo one >&2; echo two >&2; exit 3"), "SKILL_FAILED", /exit code 3\. Its last words: one\ntwo/],
    ["1 GB", shell("head -c 1000000000 /dev/zero"), "INVALID_OUTPUT", /more to its standard output than is allowed/],
    [
      "1 GB without a line",
      shell("head -c 1000000000 /dev/zero", { reply: "line" }),
      "INVALID_OUTPUT",
      /more to its standard output/,
    ],
    ["1 GB of errors", shell("head -c 1000000000 /dev/zero >&2"), "INVALID_OUTPUT", /more to its standard error/],
    ["too much memory", shell("x=a; while true; do x=$x$x; done", { memoryMb: 32 }), "SKILL_FAILED", /too much memory/],
  ])("a program that gives %s gets a clear error", async (_what, spec, code, message) => {
    const reply = await engine.shared.serve(spec, {}, call);
    expect(reply).toMatchObject({ output: null, error: { code, message: expect.stringMatching(message) } });
  });

  test("the time limit and the caller's signal end the program", async () => {
    const sandbox = engine.sandbox();
    const late = await sandbox.serve(shell("sleep 300"), {}, { ...call, timeoutMs: 500 });
    expect(late).toMatchObject({ error: { code: "SKILL_TIMEOUT" }, result: { timedOut: true } });
    const left = await sandbox.serve(shell("sleep 300"), {}, { ...call, signal: AbortSignal.timeout(800) });
    expect(left).toMatchObject({ error: { code: "SKILL_CANCELLED" }, result: { aborted: true } });
  });

  test("variables of the server come in only where the operator allows them", async () => {
    const environment = { ...engine.environment, API_TOKEN: "t0ken", OTHER: "x" };
    const sandbox = engine.sandbox({ environment, allowEnv: ["API_TOKEN", "MISSING"] });
    const spec = (name: string) => print('printf "%s" "$T"', { env: { T: { fromEnv: name } }, output: "text" });
    expect((await sandbox.serve(spec("API_TOKEN"), {}, call)).output).toBe("t0ken");
    await expect(sandbox.serve(spec("OTHER"), {}, call)).rejects.toMatchObject({ code: "INVALID_ENV" });
    await expect(sandbox.serve(spec("MISSING"), {}, call)).rejects.toMatchObject({ code: "INVALID_ENV" });
  });
});
