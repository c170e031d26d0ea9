import type { ChildProcess } from "node:child_process";
import { type FSWatcher, watch } from "node:fs";
import { stat } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { killTree, spawnCli } from "./cli.js";
import type { Engine } from "./engine-table.js";
import { type Instance, ownerLabel } from "./instance.js";

/** What an engine's stream of events says of one container. */
export interface EventListener {
  onStart(): void;
  onEnd(exitCode: number | null): void;
  onOom(): void;
}

export interface Events {
  /** Listens for one container, from now on; the stream is opened when it is needed. Returns the function that ends it. */
  listen(engine: Engine, name: string, listener: EventListener): () => void;
  stop(): void;
}

/** A stream nobody listens to is closed after this. */
const idleMs = 30_000;
/** Pause before a stream that has ended is opened again: it ends at once when the engine is gone. */
const reopenMs = 500;
/** Covers the pause, and a start that was quicker than the stream. */
const lookBackS = 3;
/** An engine ends the stream by itself after this, so that the command line program does not outlive a server that was killed. */
const streamLimitS = 600;

/** One shared `events` stream an engine, however many containers run. */
export function createEvents(instance: Instance): Events {
  const listeners = new Map<string, EventListener>();
  let child: ChildProcess | null = null;
  let idle: NodeJS.Timeout | undefined;
  let reopening: NodeJS.Timeout | undefined;

  const stop = () => {
    clearTimeout(idle);
    clearTimeout(reopening);
    reopening = undefined;
    if (child !== null) killTree(child);
    child = null;
  };
  const open = (engine: Engine) => {
    // The stream may be ready only after the first container started: ask for the last seconds too.
    const now = Math.floor(Date.now() / 1000);
    const args = [
      "events",
      `--since=${now - lookBackS}`,
      `--until=${now + streamLimitS}`,
      `--filter=label=${ownerLabel}=${instance.owner}`,
    ];
    const events = ["start", "die", "oom"].map((event) => `--filter=event=${event}`);
    let opened: ChildProcess;
    try {
      opened = spawnCli(engine, [...args, "--filter=type=container", ...events, "--format={{json .}}"], {
        stdio: ["ignore", "pipe", "ignore"],
      });
    } catch {
      // Without the stream the engine is asked for each start.
      return reopen(engine);
    }
    child = opened;
    opened.on("error", () => {});
    opened.on("close", () => {
      if (child !== opened) return;
      child = null;
      reopen(engine);
    });
    readLines(opened, (line) => report(line, listeners));
    // The stream must not keep the process alive.
    opened.unref();
    (opened.stdout as unknown as { unref?: () => void } | null)?.unref?.();
  };
  const reopen = (engine: Engine) => {
    reopening ??= setTimeout(() => {
      reopening = undefined;
      if (child === null && listeners.size > 0) open(engine);
    }, reopenMs).unref();
  };
  return {
    listen(engine, name, listener) {
      clearTimeout(idle);
      listeners.set(name, listener);
      if (child === null && reopening === undefined) open(engine);
      return () => {
        listeners.delete(name);
        if (listeners.size === 0) idle = setTimeout(stop, idleMs).unref();
      };
    },
    stop,
  };
}

function readLines(child: ChildProcess, onLine: (line: string) => void): void {
  let rest = "";
  child.stdout?.on("data", (chunk: Buffer) => {
    const lines = (rest + chunk.toString("utf8")).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) onLine(line);
  });
  child.stdout?.on("error", () => {});
}

function report(line: string, listeners: ReadonlyMap<string, EventListener>): void {
  let event: { status?: string; Action?: string; Actor?: { Attributes?: Record<string, string> } };
  try {
    event = JSON.parse(line);
  } catch {
    return;
  }
  const attributes = event.Actor?.Attributes ?? {};
  const listener = listeners.get(attributes["name"] ?? "");
  const action = event.status ?? event.Action;
  if (action === "start") listener?.onStart();
  else if (action === "oom") listener?.onOom();
  else if (action === "die") {
    const code = Number.parseInt(attributes["exitCode"] ?? "", 10);
    listener?.onEnd(Number.isNaN(code) ? null : code);
  }
}

/** Calls back when the engine has written the program's process id, which it does at its start. */
export function watchPidFile(file: string, onStart: () => void): () => void {
  let watcher: FSWatcher | null = null;
  let timer: NodeJS.Timeout | undefined;
  let ended = false;
  const end = () => {
    ended = true;
    clearInterval(timer);
    watcher?.close();
  };
  const check = async () => {
    const found = await stat(file).catch(() => null);
    if (ended || found === null || found.size === 0) return;
    end();
    onStart();
  };
  try {
    watcher = watch(dirname(file), (_event, name) => {
      if (name === null || name === basename(file)) void check();
    });
    watcher.on("error", () => {});
    watcher.unref();
  } catch {
    // Watching is not possible everywhere, and the kernel limits it.
  }
  timer = setInterval(() => void check(), watcher === null ? 25 : 250).unref();
  return end;
}
