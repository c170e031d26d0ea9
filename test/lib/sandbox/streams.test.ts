import { createHash, randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { createCapture } from "../../../lib/sandbox/capture.js";
import { createSandbox } from "../../../lib/sandbox/sandbox.js";
import { eventually, nodeImage, onEachEngine, shellImage } from "../../engines/engines.js";
import { createStubEngine } from "../../engines/stub-engine.js";

onEachEngine("streams", (engine) => {
  test("a program that never stops printing is ended at the limit, and costs the server no memory", async () => {
    const sandbox = engine.sandbox();
    await sandbox.run(shellImage, ["true"]);
    const before = process.memoryUsage.rss();
    let highest = before;
    const watch = setInterval(() => {
      highest = Math.max(highest, process.memoryUsage.rss());
    }, 10);
    const result = await sandbox.run(shellImage, ["yes"], {}, { maxOutputBytes: 1024 * 1024, timeoutMs: 10_000 });
    clearInterval(watch);
    expect(result).toMatchObject({ stdoutTruncated: true, killed: true, timedOut: false });
    expect(result.stdout).toHaveLength(1024 * 1024);
    expect((highest - before) / 1024 / 1024).toBeLessThan(32);
    await sandbox.settled();
    expect(await eventually(async () => (await engine.containers()).length === 0)).toBe(true);
  });

  // Both engines together do it fifty times.
  test("the last bytes of a long output are never lost", { timeout: 240_000 }, async () => {
    const sandbox = engine.shared;
    let left = 12;
    const print = ["sh", "-c", "head -c 5000000 /dev/zero | tr '\\0' x"];
    const lane = async () => {
      while (left-- > 0) {
        const result = await sandbox.run(shellImage, print, {}, { maxOutputBytes: 6_000_000 });
        expect(result.stdout).toHaveLength(5_000_000);
        expect(result).toMatchObject({ exitCode: 0, stdoutTruncated: false });
      }
    };
    await Promise.all([lane(), lane(), lane(), lane()]);
  });

  test("a character that arrives in two pieces survives", async () => {
    const { stdout } = await engine.shared.run(shellImage, ["sh", "-c", "printf '\\342\\202'; sleep .3; printf '\\254'"]);
    expect(stdout).toBe("€");
  });

  test("a program that does not read 100 MB of input does no harm", async () => {
    const result = await engine.shared.run(shellImage, ["true"], {}, { stdin: Buffer.alloc(100_000_000) });
    expect(result).toMatchObject({ exitCode: 0, stdout: "" });
  });

  test("every byte of the input arrives as it was sent", async () => {
    const bytes = Buffer.concat([Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)), randomBytes(300_000)]);
    async function* inPieces() {
      for (let at = 0; at < bytes.length; ) {
        const size = 1 + Math.floor(Math.random() * 5000);
        yield bytes.subarray(at, at + size);
        at += size;
      }
    }
    const sum = createHash("sha256").update(bytes).digest("hex");
    const sandbox = engine.shared;
    for (const stdin of [bytes, inPieces()]) {
      const { stdout } = await sandbox.run(shellImage, ["sha256sum"], {}, { stdin });
      expect(stdout).toBe(`${sum}  -\n`);
    }
  });

  test("without stdin a program reads the end of its input at once", async () => {
    const { stdout } = await engine.shared.run(shellImage, ["sh", "-c", "cat; echo end"]);
    expect(stdout).toBe("end\n");
  });

  test("a missing image is an error of its own, and none of the engine's text is taken for the program's", async () => {
    const sandbox = engine.shared;
    const missing = sandbox.run("localhost/express-skills-test/not-there:1", ["true"]);
    await expect(missing).rejects.toMatchObject({ code: "IMAGE_NOT_FOUND" });
    const never = sandbox.run("localhost/express-skills-test/not-there:1", ["true"], {}, { pull: "never" });
    await expect(never).rejects.toMatchObject({ code: "IMAGE_NOT_FOUND" });
    const { stderr } = await sandbox.run(shellImage, ["sh", "-c", "echo mine >&2"]);
    expect(stderr).toBe("mine\n");
  });

  test("files are found under the working directory, and cannot be changed", async () => {
    const files = {
      "main.mjs": 'import { text } from "./lib/text.mjs"; console.log(text);',
      "lib/text.mjs": 'export const text = "from a file";',
    };
    const sandbox = engine.shared;
    const result = await sandbox.run(nodeImage, ["node", "main.mjs"], {}, { files });
    expect(result).toMatchObject({ stdout: "from a file\n", exitCode: 0 });
    const script = "echo x > main.mjs; rm main.mjs; echo x > lib/new; mv lib other; echo x > own && cat own";
    const changed = await sandbox.run(shellImage, ["sh", "-c", script], {}, { files });
    expect(changed.stdout).toBe("x\n");
    expect(changed.stderr.trim().split("\n")).toHaveLength(4);
  });
});

test("an engine's warnings in front of the program's stderr are told apart from it", async () => {
  const stub = await createStubEngine({
    run: 'echo "WARNING: Your kernel does not support swap limit capabilities" >&2; echo "WARNING: mine" >&2; echo "time=\\"x\\" level=warning msg=later" >&2',
  });
  const sandbox = createSandbox({ runtime: "docker", allowUnenforcedLimits: true, owner: "stub", environment: stub.environment });
  const result = await sandbox.run("any", ["x"]);
  expect(result.warnings).toEqual(["WARNING: Your kernel does not support swap limit capabilities"]);
  expect(result.stderr).toBe('WARNING: mine\ntime="x" level=warning msg=later\n');
  await sandbox.close();
});

test.each(["../a", "/a", "a/../b", "a:b", "a,b", "", "a//b", ".", "..", "a\0b", "x".repeat(300)])(
  "a file named %j is refused",
  async (path) => {
    const sandbox = createSandbox({ runtime: "docker" });
    await expect(sandbox.run("any", ["x"], {}, { files: { [path]: "" } })).rejects.toMatchObject({ code: "INVALID_OPTION" });
    await expect(sandbox.run("any", ["x"], {}, { files: { a: "", "a/b": "" } })).rejects.toMatchObject({
      code: "INVALID_OPTION",
    });
  },
);

test("a limit never cuts a character in two, and bytes that are no UTF-8 do not throw", () => {
  const text = "aä€😀";
  const bytes = Buffer.from(text);
  for (let limit = 1; limit <= bytes.length; limit++) {
    const capture = createCapture(limit, () => {});
    for (const byte of bytes) capture.push(Buffer.from([byte]));
    expect(text.startsWith(capture.text())).toBe(true);
    expect(Buffer.byteLength(capture.text())).toBeGreaterThan(limit - 4);
    expect(capture.truncated).toBe(limit < bytes.length);
  }
  const invalid = createCapture(100, () => {});
  invalid.push(Buffer.from([0xff, 0x41, 0xc3]));
  expect(invalid.text()).toBe("\uFFFDA\uFFFD");
});

test("the overflow is told once, and the last bytes are kept apart from the first", () => {
  let told = 0;
  const capture = createCapture(10, () => {
    told += 1;
  });
  for (let index = 0; index < 10_000; index++) capture.push(Buffer.from(`line ${index}\n`));
  expect(told).toBe(1);
  expect(capture.text()).toBe("line 0\nlin");
  expect(capture.tail().endsWith("line 9998\nline 9999\n")).toBe(true);
  expect(capture.tail().length).toBeLessThanOrEqual(4096);
});
