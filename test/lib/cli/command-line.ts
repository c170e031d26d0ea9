import { type ChildProcessByStdio, spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough, type Readable, type Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { main } from "../../../lib/cli/main.js";
import { openStore } from "../../../lib/store/open.js";
import { temporaryFolder, until } from "../../fixtures/kit.js";

/** The built program, as npm installs it. */
export const bin = fileURLToPath(new URL("../../../dist/lib/cli/bin.js", import.meta.url));

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Running {
  readonly child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly ended: Promise<Ended>;
  /** What it printed so far. */
  output(): string;
  /** Waits until it has printed a text. */
  printed(text: string | RegExp): Promise<void>;
}

export interface CommandLine {
  readonly folder: string;
  /** The database that it works on by default. */
  readonly file: string;
  write(name: string, content: unknown): string;
  /** Runs a command to its end: in this process, since starting one takes a second. */
  run(...words: string[]): Promise<Ended>;
  start(words: readonly string[], environment?: NodeJS.ProcessEnv): Running;
}

/** Starting a process takes long on a machine that is busy with other tests. */
export const timeout = 90_000;

/** Makes the database, without a process. */
export async function makeDatabase({ file }: CommandLine): Promise<void> {
  const store = await openStore({ database: file, durability: "process" });
  await store.close();
}

/** The command line in an empty folder, which is the current one until the test ends. */
export function commandLine(): CommandLine {
  if (!existsSync(bin)) throw new Error("The command line is not built: run `npm run build`.");
  const folder = temporaryFolder();
  const before = process.cwd();
  process.chdir(folder);
  onTestFinished(() => process.chdir(before));
  const { SKILLS_DATABASE: _, NO_COLOR: __, ...inherited } = process.env;
  const start: CommandLine["start"] = (words, environment = {}) => {
    const env = { ...inherited, ...environment };
    const child = spawn(process.execPath, [bin, ...words], { cwd: folder, env, stdio: "pipe" });
    onTestFinished(() => void child.kill("SIGKILL"));
    return watch(child);
  };
  return {
    folder,
    file: join(folder, "skills.db"),
    write(name, content) {
      const path = join(folder, name);
      writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
      return path;
    },
    run: (...words) => runHere(words, inherited),
    start,
  };
}

/** Variables whose PATH has no engine that works. */
export function withoutEngine({ folder: parent }: CommandLine): NodeJS.ProcessEnv {
  const folder = join(parent, "bin");
  mkdirSync(folder, { recursive: true });
  for (const name of ["docker", "podman"]) {
    writeFileSync(join(folder, name), "#!/bin/sh\necho 'Cannot connect to the engine' >&2\nexit 125\n", { mode: 0o755 });
  }
  return { PATH: `${folder}:${process.env["PATH"]}`, SKILLS_SANDBOX_RUNTIME: "" };
}

/** Runs a command to its end in this process, which starts in no time. */
export async function runHere(words: readonly string[], environment: NodeJS.ProcessEnv): Promise<Ended> {
  const [stdin, stdout, stderr] = [new PassThrough().end(), new PassThrough(), new PassThrough()];
  const printed = [stdout, stderr].map((stream) => text(stream));
  const { PATH } = process.env;
  const code = await main(words, Object.assign(new EventEmitter(), { stdin, stdout, stderr }), { PATH, ...environment });
  for (const stream of [stdout, stderr]) stream.end();
  const [out = "", err = ""] = await Promise.all(printed);
  return { code, stdout: out, stderr: err };
}

function watch(child: Running["child"]): Running {
  const output = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (chunk: string) => {
      output[name] += chunk;
    });
  }
  // It may not read what it is given.
  child.stdin.on("error", () => {});
  const all = () => output.stdout + output.stderr;
  return {
    child,
    ended: once(child, "close").then(([code]) => ({ ...output, code: code as number | null })),
    output: all,
    printed: (text) => until(() => (typeof text === "string" ? all().includes(text) : text.test(all())), 60_000),
  };
}

/** A module of handlers: one that counts with progress and log lines, one that fails, one that never ends by itself. */
export const handlers = `
export default (kit) => {
  kit.define({
    name: "count", version: "1.2.0", description: "Counts", tags: ["numbers"],
    schema: { type: "object", properties: { n: { type: "integer" } } },
    handler: ({ n = 1 }, context) => {
      for (let step = 1; step <= n; step++) context.progress(step / n, "step " + step);
      context.log("counted", { n });
      return { n };
    },
  });
  kit.define({ name: "fails", schema: {}, handler: () => { throw new Error("no such \\u001b[31mthing"); } });
  kit.define({ name: "waits", schema: {}, handler: (_, context) => {
    console.error("waiting");
    return new Promise((_, reject) => context.signal.addEventListener("abort", () => reject(context.signal.reason)));
  } });
};
`;
