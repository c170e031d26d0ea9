import type { ChildProcess } from "node:child_process";
import type { Readable } from "node:stream";
import { awaitStart } from "./await-start.js";
import { type Capture, createCapture } from "./capture.js";
import { killTree, spawnCli } from "./cli.js";
import { createContainerClock } from "./container-clock.js";
import type { Engine } from "./engine-table.js";
import { type Input, sendInput } from "./input.js";
import type { Limits } from "./limits.js";
import type { Events } from "./start-evidence.js";
import { terminate } from "./terminate.js";

/** Why we ended a container. The first reason wins. */
export type EndReason = "timeout" | "abort" | "outputLimit" | "startTimeout" | "inputFault" | "drain";

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
  /** What the input threw, with the reason `inputFault`. */
  readonly inputFault: unknown;
  readonly startupMs: number | null;
  readonly durationMs: number;
}

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
  /** True as soon as anything told of its end, also while its streams may have more to say. */
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
/** How long what holds the output of the command line program open may live on in silence after it. */
const outlivingMs = 2000;
/**
 * How long the command line program may live on in silence after the engine told of its container's end. On a busy machine it may take seconds
 * to print what there is; one that noticed nothing is rare, and costs this time only.
 */
const unnoticedMs = 10_000;
/** Pause after each piece of output over the limit. */
const pauseMs = 10;

/** Starts a container. Never throws: what goes wrong is in `ended`. */
export function launchContainer(launch: ContainerLaunch): Container {
  const { engine, name, limits } = launch;
  const life = new AbortController();
  const clock = createContainerClock(limits, (limit) => container.end(limit));
  let reason: EndReason | null = null;
  let toldCode: number | null = null;
  let oomTold = false;
  let spawnError: string | null = null;
  let inputFault: unknown = null;
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
  /** Does the work when the streams have been silent for a while. */
  const afterSilence = (ms: number, work: () => void) => {
    const printed = container.stdout.totalBytes + container.stderr.totalBytes;
    after(ms, () =>
      // A busy event loop may not have read yet what is there: it does so before this.
      setImmediate(() => {
        if (container.stdout.totalBytes + container.stderr.totalBytes === printed) work();
        else if (!life.signal.aborted) afterSilence(ms, work);
      }),
    );
  };
  const onStart = () => {
    if (clock.isStarted || life.signal.aborted) return;
    clock.start();
    started.resolve(true);
  };
  const settle = (code: number | null) => {
    if (life.signal.aborted) return;
    clock.end();
    clock.stop();
    life.abort();
    for (const timer of timers) clearTimeout(timer);
    started.resolve(clock.isStarted);
    ended.resolve({
      reason,
      code,
      toldCode,
      oomTold,
      spawnError,
      inputFault,
      ...clock.times(),
    });
    if (reason === null) gone.resolve(spawnError !== null ? false : !exited);
  };
  awaitStart(
    launch,
    life.signal,
    {
      onStart,
      onOom: () => {
        oomTold = true;
      },
      onEnd: (code) => {
        clock.end();
        toldCode = code;
        // The command line program may not notice: what it has to say is there by then, or never.
        afterSilence(unnoticedMs, () => child !== null && killTree(child));
      },
    },
    () => clock.isStarted,
  );

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
      return life.signal.aborted || clock.isEnded;
    },
    get isStarted() {
      return clock.isStarted;
    },
    onOutput: null,
    onErrorOutput: null,
    times: clock.times,
    feed(input, timeoutMs) {
      clock.feed(timeoutMs);
      if (!child?.stdin) return;
      void sendInput(child.stdin, input, (error) => {
        inputFault = error;
        container.end("inputFault");
      });
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
    if (container.stdout.truncated) slowDown(child.stdout);
    container.onOutput?.();
  });
  child?.stderr?.on("data", (chunk: Buffer) => {
    container.stderr.push(chunk);
    if (container.stderr.truncated) slowDown(child.stderr);
    container.onErrorOutput?.(chunk);
  });
  child?.on("exit", (code, signal) => {
    exited = true;
    closed.resolve();
    // A process that outlives the command line program can hold its output open.
    afterSilence(outlivingMs, () => settle(signal === null ? code : null));
  });
  child?.on("close", (code, signal) => settle(signal === null ? code : null));
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

/**
 * What is over the limit is still read, since the command line program waits until it has written it; but at leisure: every piece is a
 * buffer of its own, and as fast as the program can print they pile up before they are collected.
 */
function slowDown(stream: Readable | null): void {
  stream?.pause();
  setTimeout(() => stream?.resume(), pauseMs);
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
