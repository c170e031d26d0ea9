/** The calls that are under way. */
export interface Calls {
  /** Runs `work` with a signal that aborts when the caller's does, or when the sandbox closes. */
  track<T>(signal: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<T>): Promise<T>;
  /** Waits for the calls; those that have not ended after `graceMs` are aborted. */
  drain(graceMs: number): Promise<void>;
}

export function createCalls(): Calls {
  const running = new Map<AbortController, Promise<unknown>>();
  return {
    async track(signal, work) {
      const life = new AbortController();
      const onAbort = () => life.abort(signal?.reason);
      if (signal?.aborted === true) onAbort();
      signal?.addEventListener("abort", onAbort, { once: true });
      const result = work(life.signal);
      running.set(life, result);
      try {
        return await result;
      } finally {
        running.delete(life);
        signal?.removeEventListener("abort", onAbort);
      }
    },
    async drain(graceMs) {
      const timer = setTimeout(() => {
        for (const life of running.keys()) life.abort();
      }, graceMs);
      while (running.size > 0) await Promise.allSettled([...running.values()]);
      clearTimeout(timer);
    },
  };
}
