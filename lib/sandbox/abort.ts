/** Thrown to leave the work in front of a container's start when the caller gave up. */
export class Aborted extends Error {}

/** The promise, or `Aborted` as soon as the signal aborts; shared work behind the promise goes on for others. */
export function orAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  if (signal.aborted) {
    promise.catch(() => {});
    return Promise.reject(new Aborted());
  }
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(new Aborted());
    signal.addEventListener("abort", onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}
