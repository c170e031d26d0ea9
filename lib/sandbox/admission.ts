import { SkillError } from "../errors.js";

export interface Admission {
  /** Waits for a place; the returned function gives it back. @throws `SANDBOX_BUSY`, or the signal's reason. */
  enter(signal: AbortSignal | undefined): Promise<() => void>;
  readonly running: number;
  readonly queued: number;
}

export interface AdmissionOptions {
  readonly maxConcurrent: number;
  readonly maxQueued: number;
  readonly queueTimeoutMs: number;
}

interface Waiter {
  readonly admit: () => void;
}

/** Many starts at once make each one slow, and exhaust the engine's locks: first come, first served, with bounds. */
export function createAdmission(options: AdmissionOptions): Admission {
  let running = 0;
  const waiters = new Set<Waiter>();

  const place = () => {
    let given = false;
    return () => {
      if (given) return;
      given = true;
      const [next] = waiters;
      if (next === undefined) running -= 1;
      else next.admit();
    };
  };
  return {
    enter(signal) {
      signal?.throwIfAborted();
      if (running < options.maxConcurrent) {
        running += 1;
        return Promise.resolve(place());
      }
      if (waiters.size >= options.maxQueued) {
        return Promise.reject(busy(options, `${running} containers run and ${waiters.size} calls wait`));
      }
      return new Promise((resolve, reject) => {
        const leave = () => {
          waiters.delete(waiter);
          clearTimeout(timer);
          signal?.removeEventListener("abort", onAbort);
        };
        const onAbort = () => {
          leave();
          reject(signal?.reason);
        };
        const waiter: Waiter = {
          admit() {
            leave();
            resolve(place());
          },
        };
        const timer = setTimeout(() => {
          leave();
          reject(busy(options, `no place became free within ${options.queueTimeoutMs} ms`));
        }, options.queueTimeoutMs);
        signal?.addEventListener("abort", onAbort, { once: true });
        waiters.add(waiter);
      });
    },
    get running() {
      return running;
    },
    get queued() {
      return waiters.size;
    },
  };
}

function busy(options: AdmissionOptions, reason: string): SkillError {
  return new SkillError("SANDBOX_BUSY", `The sandbox is busy: ${reason}.`, {
    retryAfterMs: Math.max(1000, options.queueTimeoutMs / 2),
  });
}
