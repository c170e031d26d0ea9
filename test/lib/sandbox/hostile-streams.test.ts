import { existsSync } from "node:fs";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { createCapture } from "../../../lib/sandbox/capture.js";
import type { ContainerSpec } from "../../../lib/types.js";
import { eventually, onEachEngine, shellImage } from "../../engines/engines.js";
import { createStubSandbox } from "../../engines/stub-engine.js";

const MiB = 1024 * 1024;

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

/** How many bytes more the process holds at most while `work` is under way. */
async function growthOf(work: () => Promise<unknown>): Promise<number> {
  collectGarbage();
  const before = process.memoryUsage.rss();
  let highest = before;
  const watch = setInterval(() => {
    highest = Math.max(highest, process.memoryUsage.rss());
  }, 10);
  await work();
  clearInterval(watch);
  return highest - before;
}

onEachEngine("input that nobody reads", (engine) => {
  test("stays with the caller: 100 MB wait for a program that never reads, and cost the server nothing more", async () => {
    const sandbox = engine.sandbox();
    await sandbox.run(shellImage, ["true"]);
    const bytes = Buffer.alloc(100_000_000, "x");
    const text = bytes.toString("latin1");
    for (const stdin of [bytes, text]) {
      const growth = await growthOf(async () => {
        const result = await sandbox.run(shellImage, ["sleep", "1"], {}, { stdin });
        expect(result).toMatchObject({ exitCode: 0, killed: false });
      });
      expect(growth / MiB).toBeLessThan(32);
    }
  });
});

test("a text is sent in pieces that cut no character", async () => {
  const { sandbox } = await createStubSandbox({ run: "cat" });
  const stdin = `${"x".repeat(64 * 1024 - 1)}${"😀€".repeat(50_000)}`;
  expect((await sandbox.run("any", ["x"], {}, { stdin })).stdout).toBe(stdin);
  await sandbox.close();
});

test.each([
  ["throws", new Error("the upload broke off"), /upload broke off/],
  ["gives something that is no bytes", 5, /stdin/],
])("an input that %s ends the run: the program must not take half of it for the whole", async (_what, fault, message) => {
  const { sandbox, folder } = await createStubSandbox({
    run: 'echo $$ > "$FOLDER/pid"; cat; exec sleep 60',
    // The mark comes first: with the program's end the run ends.
    kill: 'touch "$FOLDER/killed"; kill -9 $(cat "$FOLDER/pid")',
  });
  async function* stdin() {
    yield Buffer.from("half");
    if (fault instanceof Error) throw fault;
    yield fault as never;
  }
  const run = sandbox.run("any", ["x"], {}, { stdin: stdin() });
  await expect(run).rejects.toMatchObject({ code: "INVALID_OPTION", message: expect.stringMatching(message) });
  expect(await readdir(folder)).toContain("killed");
  await sandbox.close();
});

test("an input that never comes to its end is let go with the run, whether the program ends or the caller gives up", async () => {
  const { sandbox } = await createStubSandbox({ run: "echo done" });
  let returned = 0;
  const endless = (): AsyncIterable<Uint8Array> => ({
    [Symbol.asyncIterator]: () => ({
      next: () => new Promise(() => {}),
      return: async () => {
        returned += 1;
        return { done: true, value: undefined };
      },
    }),
  });
  expect((await sandbox.run("any", ["x"], {}, { stdin: endless() })).stdout).toBe("done\n");
  expect(await eventually(() => returned === 1)).toBe(true);
  await sandbox.close();
});

test("a program that writes byte by byte costs about what it wrote", () => {
  const capture = createCapture(2 * MiB, () => {});
  collectGarbage();
  const before = process.memoryUsage();
  for (let index = 0; index < MiB; index++) capture.push(Buffer.alloc(1, "x"));
  collectGarbage();
  const after = process.memoryUsage();
  expect((after.heapUsed + after.arrayBuffers - before.heapUsed - before.arrayBuffers) / MiB).toBeLessThan(8);
  expect(capture.text()).toHaveLength(MiB);
});

test("a program that prints as fast as it can, and survives its kill for a while, costs the server no memory", async () => {
  const { sandbox, folder } = await createStubSandbox({
    run: 'case "$*" in *true) exit ;; esac; echo $$ > "$FOLDER/pid"; exec cat /dev/zero',
    // It says that it worked, and the program is ended only with its command line program.
    kill: 'touch "$FOLDER/killed"',
  });
  await sandbox.run("any", ["true"]);
  const isGone = async () => !isAlive(Number(await readFile(join(folder, "pid"), "utf8")));
  const growth = await growthOf(async () => {
    expect(await sandbox.run("any", ["x"])).toMatchObject({ killed: true, stdoutTruncated: true });
    expect(await eventually(isGone)).toBe(true);
  });
  expect(await readdir(folder)).toContain("killed");
  expect(growth / MiB).toBeLessThan(32);
  await sandbox.close({ graceMs: 0 });
});

const told = (status: string) =>
  `{\\"status\\":\\"${status}\\",\\"Actor\\":{\\"Attributes\\":{\\"name\\":\\"$n\\",\\"exitCode\\":\\"0\\"}}}`;
// Tells the end of a container as soon as there is a file of its name with "die-" in front.
const events = `while :; do for f in "$FOLDER"/die-*; do if [ -e "$f" ]; then rm "$f"; n="\${f##*/die-}"; echo "${told("start")}"; echo "${told("die")}"; touch "$FOLDER/told-$n"; fi; done; sleep 0.05; done`;
const noteName = 'for a; do case "$a" in --name=*) n="${a#--name=}" ;; esac; done; touch "$FOLDER/run-$n"';

test("output that still arrives after the engine told the end is not cut off", async () => {
  const { sandbox } = await createStubSandbox({
    // It is told, and on a machine that is busy seconds may pass.
    run: `${noteName}; touch "$FOLDER/die-$n"; sleep 3; for i in $(seq 30); do echo $i; sleep 0.02; done`,
    events,
  });
  const result = await sandbox.run("any", ["x"]);
  expect(result).toMatchObject({ exitCode: 0, stdout: Array.from({ length: 30 }, (_, n) => `${n + 1}\n`).join("") });
  await sandbox.close();
});

test("a slot whose end the engine has told is not given to a call, though its command line program lives on", async () => {
  const { sandbox, folder } = await createStubSandbox({
    run: `${noteName}; echo $$ > "$FOLDER/pid-$n"; read -r line; echo "$line"`,
    kill: 'kill -9 $(cat "$FOLDER/pid-$3")',
    events,
    inspect: `echo '{"Status":"running","Running":true,"StartedAt":"2026-01-01T00:00:00Z"}'`,
  });
  const spec: ContainerSpec = { image: "any", command: ["x"], warm: 1 };
  await sandbox.prepare(spec, "system");
  expect(await eventually(() => sandbox.stats().slots.waiting === 1)).toBe(true);
  const [slot = ""] = (await readdir(folder)).filter((name) => name.startsWith("run-"));
  await writeFile(join(folder, slot.replace("run-", "die-")), "");
  expect(await eventually(() => existsSync(join(folder, slot.replace("run-", "told-"))))).toBe(true);
  // Now it is there to be read.
  await new Promise((resolve) => setTimeout(resolve, 200));
  const reply = await sandbox.serve(spec, 1, { owner: "system", timeoutMs: 10_000 });
  expect(reply).toMatchObject({ output: 1, result: { servedFrom: "cold" } });
  await sandbox.close({ graceMs: 0 });
});
