import type { Limits } from "./limits.js";

/** When a container's program started, got its input and ended, by our own clock, and the limits that follow from it. */
export interface ContainerClock {
  readonly isStarted: boolean;
  readonly isEnded: boolean;
  start(): void;
  /** The program's time counts from here, or from its start if that is later. */
  feed(timeoutMs: number): void;
  end(): void;
  /** No limit is told any more. */
  stop(): void;
  /** How long the start took, and how long the program runs, until now or its end. */
  times(): { readonly startupMs: number | null; readonly durationMs: number };
}

/** The clock of a container that is launched now. `onLimit` is told that the start, or the program, takes too long. */
export function createContainerClock(
  limits: Pick<Limits, "startTimeoutMs">,
  onLimit: (limit: "startTimeout" | "timeout") => void,
): ContainerClock {
  const launchedAt = performance.now();
  let startedAt: number | null = null;
  let fedAt: number | null = null;
  let endedAt: number | null = null;
  let runTimeoutMs = 0;
  let isStopped = false;
  let timer = setTimeout(() => onLimit("startTimeout"), limits.startTimeoutMs);

  const limitRun = () => {
    if (startedAt === null || isStopped) return;
    clearTimeout(timer);
    if (fedAt === null) return;
    timer = setTimeout(() => onLimit("timeout"), Math.max(0, fedAt + runTimeoutMs - performance.now()));
  };

  return {
    get isStarted() {
      return startedAt !== null;
    },
    get isEnded() {
      return endedAt !== null;
    },
    start() {
      if (startedAt !== null || isStopped) return;
      startedAt = performance.now();
      if (fedAt !== null) fedAt = startedAt;
      limitRun();
    },
    feed(timeoutMs) {
      fedAt = performance.now();
      runTimeoutMs = timeoutMs;
      limitRun();
    },
    end() {
      endedAt ??= performance.now();
    },
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
    times() {
      const now = endedAt ?? performance.now();
      const from = startedAt === null ? now : Math.max(startedAt, fedAt ?? startedAt);
      return { startupMs: startedAt === null ? null : startedAt - launchedAt, durationMs: Math.max(0, now - from) };
    },
  };
}
