import { EventEmitter } from "node:events";
import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import { main } from "../../../lib/cli/main.js";
import { until } from "../../fixtures/kit.js";

describe("a command that a signal stops before its work begins", () => {
  test.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const)("no longer waits for its input after %s, and exits with %i", async (signal, code) => {
    const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough().setEncoding("utf8") };
    let told = "";
    streams.stdout.on("data", (chunk) => {
      told += chunk;
    });
    streams.stderr.on("data", (chunk) => {
      told += chunk;
    });
    const process = Object.assign(new EventEmitter(), streams);
    const ended = main(["run", "work", "--input", "-"], process, {});
    await until(() => streams.stdin.listenerCount("readable") > 0);
    process.emit(signal, signal);
    expect(await ended).toBe(code);
    expect(told).toMatch(/^express-skills: .*\n$/);
  });
});
