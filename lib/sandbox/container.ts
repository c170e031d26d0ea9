import type { ChildProcess } from "node:child_process";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { type Capture, createCapture } from "./capture.js";
import { killTree, spawnCli } from "./cli.js";
import { inspectContainer } from "./container-state.js";
import type { Engine } from "./engine-table.js";
import type { Limits } from "./limits.js";
import { type Events, watchPidFile } from "./start-evidence.js";
import { terminate } from "./terminate.js";

/** Why we ended a container. The first reason wins. */
export type EndReason = "timeout" | "abort" | "outputLimit" | "startTimeout" | "drain";

/** The end of a container's command line program, and what was learnt on the way. */
export interface Ending {
  readonly reason: EndReason | null;
  /** Exit code of the command line program; `null` when it was killed. */
  readonly code: number | null;
  /** Exit code that the engine's events told. */
  readonly toldCode: number | null;
  readonly oomTold: boolean;
  /** Why the command line program could not be started. */
  readonly spawnError: string | null;
  readonly startupMs: number | null;
  readonly durationMs: number;
}

export type Input = string | Uint8Array | AsyncIterable<Uint8Array>;

/** One started container. */
export interface Container {
  readonly engine: Engine;
  readonly name: string;
  readonly limits: Limits;
  readonly stdout: Capture;
  readonly stderr: Capture;
  /** True when the program started, false when it ended before. */
  readonly started: Promise<boolean>;
  /** Resolves when the streams have ended, or, after we ended it, soon at the latest. */
  readonly ended: Promise<Ending>;
  /** Resolves when nothing more is done to end it: true when it may still exist or yet come into being. */
  readonly gone: Promise<boolean>;
  readonly isEnded: boolean;
  readonly isStarted: boolean;
  /** Sends the whole input and closes stdin; the program's time counts from here, or from its start if that is later. */
  feed(input: Input, timeoutMs: number): void;
  end(reason: EndReason): void;
  /** How long the start took, and how long the program runs, until now or its end. */
  times(): { readonly startupMs: number | null; readonly durationMs: number };
  /** Called with each piece of standard output, after it was captured. */
  onOutput: (() => void) | null;
  /** Called with each piece of standard error, after it was captured. */
  onErrorOutput: ((chunk: Buffer) => void) | null;
}

export interface ContainerLaunch {
  readonly engine: Engine;
  readonly name: string;
  readonly args: readonly string[];
  readonly variables: Readonly<Record<string, string>>;
  readonly limits: Limits;
  /** An empty folder of the run's own. */
  readonly cwd: string;
  readonly pidFile: string | null;
  readonly events: Events;
}

/** How long a run that we ended may take to end before it is answered all the same. */
const answerMs = 800;
/** How long the command line program may live on after its container ended. */
const cliGraceMs = 2000;
/** When nothing told of the start by then, the engine is asked. */
const askAfterMs = 1500;

/** Starts a container. Never throws: what goes wrong is in `ended`. */
export function launchContainer(launch: ContainerLaunch): Container {
  const { engine, name, limits } = launch;
  const launchedAt = performance.now();
  const life = new AbortController();
  let startedAt: number | null = null;
  let endedAt: number | null = null;
  let fedAt: number | null = null;
  let runTimeoutMs = limits.timeoutMs;
  let reason: EndReason | null = null;
  let toldCode: number | null = null;
  let oomTold = false;
  let spawnError: string | null = null;
  let exited = false;
  const timers = new Set<NodeJS.Timeout>();
  const started = withResolver<boolean>();
  const ended = withResolver<Ending>();
  const gone = withResolver<boolean>();
  const closed = withResolver<void>();

  const after = (ms: number, work: () => void) => {
    const timer = setTimeout(work, ms);
    timers.add(timer);
    return timer;
  };
  let timeLimit = after(limits.startTimeoutMs, () => container.end("startTimeout"));
  const limitTime = () => {
    if (startedAt === null || life.signal.aborted) return;
    clearTimeout(timeLimit);
    if (fedAt !== null) timeLimit = after(Math.max(0, fedAt + runTimeoutMs - performance.now()), () => container.end("timeout"));
  };
  const onStart = () => {
    if (startedAt !== null || life.signal.aborted) return;
    startedAt = performance.now();
    if (fedAt !== null) fedAt = startedAt;
    limitTime();
    started.resolve(true);
  };
  const settle = (code: number | null) => {
    if (life.signal.aborted) return;
    endedAt ??= performance.now();
    life.abort();
    for (const timer of timers) clearTimeout(timer);
    started.resolve(startedAt !== null);
    ended.resolve({
      reason,
      code,
      toldCode,
      oomTold,
      spawnError,
      startupMs: startedAt === null ? null : startedAt - launchedAt,
      durationMs: Math.max(
        0,
        endedAt - (fedAt !== null && startedAt !== null ? Math.max(fedAt, startedAt) : (startedAt ?? endedAt)),
      ),
    });
    if (reason === null) gone.resolve(spawnError !== null ? false : !exited);
  };
  const stopListening = listenForStart(launch, {
    onStart,
    onOom: () => {
      oomTold = true;
    },
    onEnd: (code) => {
      endedAt ??= performance.now();
      toldCode = code;
      // The command line program may not notice: what it has to say is there by now, or never.
      after(cliGraceMs, () => child !== null && killTree(child));
    },
  });
  life.signal.addEventListener("abort", stopListening);

  const container: Container = {
    engine,
    name,
    limits,
    stdout: createCapture(limits.maxOutputBytes, () => container.end("outputLimit")),
    stderr: createCapture(limits.maxOutputBytes, () => container.end("outputLimit")),
    started: started.promise,
    ended: ended.promise,
    gone: gone.promise,
    get isEnded() {
      return life.signal.aborted;
    },
    get isStarted() {
      return startedAt !== null;
    },
    onOutput: null,
    onErrorOutput: null,
    times() {
      const now = endedAt ?? performance.now();
      const from = startedAt === null ? now : Math.max(startedAt, fedAt ?? startedAt);
      return { startupMs: startedAt === null ? null : startedAt - launchedAt, durationMs: Math.max(0, now - from) };
    },
    feed(input, timeoutMs) {
      fedAt = performance.now();
      runTimeoutMs = timeoutMs;
      limitTime();
      if (child?.stdin) void sendInput(child.stdin, input);
    },
    end(why) {
      if (reason !== null || life.signal.aborted) return;
      reason = why;
      void terminate({
        engine,
        name,
        hasEnded: () => exited,
        ended: closed.promise,
        killCommandLine: () => child !== null && killTree(child),
      }).then(({ doubtful }) => {
        gone.resolve(doubtful);
        settle(null);
      });
      after(answerMs, () => settle(null));
    },
  };

  const child = spawnContainer(launch, (error) => {
    spawnError = error;
    exited = true;
    closed.resolve();
    settle(null);
  });
  child?.stdout?.on("data", (chunk: Buffer) => {
    onStart();
    container.stdout.push(chunk);
    container.onOutput?.();
  });
  child?.stderr?.on("data", (chunk: Buffer) => {
    container.stderr.push(chunk);
    container.onErrorOutput?.(chunk);
  });
  child?.on("exit", (code, signal) => {
    exited = true;
    closed.resolve();
    // A process that outlives the command line program can hold its output open.
    after(cliGraceMs, () => settle(signal === null ? code : null));
  });
  child?.on("close", (code, signal) => settle(signal === null ? code : null));
  askForStart(container, life.signal, onStart);
  return container;
}

function spawnContainer(launch: ContainerLaunch, onError: (code: string) => void): ChildProcess | null {
  try {
    const child = spawnCli(launch.engine, launch.args, {
      stdio: ["pipe", "pipe", "pipe"],
      cwd: launch.cwd,
      variables: launch.variables,
    });
    child.on("error", (error: NodeJS.ErrnoException) => {
      if (child.pid === undefined) onError(error.code ?? error.message);
    });
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.on("error", () => {});
    return child;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? String(error);
    queueMicrotask(() => onError(code));
    return null;
  }
}

function listenForStart(launch: ContainerLaunch, listener: Parameters<Events["listen"]>[2]): () => void {
  if (launch.engine.traits.startEvidence === "events") return launch.events.listen(launch.engine, launch.name, listener);
  return launch.pidFile === null ? () => {} : watchPidFile(launch.pidFile, listener.onStart);
}

/** Evidence of the start can be lost (a broken stream of events, a remote engine): then the engine is asked now and then. */
function askForStart(container: Container, life: AbortSignal, onStart: () => void): void {
  const ask = async () => {
    if (life.aborted || container.isStarted) return;
    const inspection = await inspectContainer(container.engine, container.name);
    if ("state" in inspection && inspection.state.started) onStart();
    else if (!life.aborted && !container.isStarted) schedule();
  };
  let timer: NodeJS.Timeout;
  const schedule = () => {
    timer = setTimeout(() => void ask(), askAfterMs).unref();
  };
  life.addEventListener("abort", () => clearTimeout(timer), { once: true });
  schedule();
}

/** A program that does not read its input closes the pipe: that is its right. */
async function sendInput(stdin: NodeJS.WritableStream, input: Input): Promise<void> {
  const source = typeof input === "string" || input instanceof Uint8Array ? pieces(Buffer.from(input as string)) : input;
  await pipeline(Readable.from(source, { objectMode: false }), stdin).catch(() => {});
}

const pieceBytes = 64 * 1024;

function* pieces(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
}

interface Resolver<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
}

function withResolver<T>(): Resolver<T> {
  let resolve!: (value: T) => void;
  const promise = new Promise<T>((resolver) => {
    resolve = resolver;
  });
  return { promise, resolve };
}
