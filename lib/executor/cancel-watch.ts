import { deleteCancelRequests, listCancelRequests } from "../store/cancel-requests.js";
import type { Store } from "../store/store.js";
import type { Logger } from "../types.js";

const POLL_MS = 500;

/** Looks, while calls run here, for those that other instances want ended. */
export class CancelWatch {
  readonly #isBusy: () => boolean;
  readonly #end: (executionId: string) => void;
  readonly #logger: Logger;
  #timer: NodeJS.Timeout | undefined;
  #isLooking = false;

  constructor(isBusy: () => boolean, end: (executionId: string) => void, logger: Logger) {
    this.#isBusy = isBusy;
    this.#end = end;
    this.#logger = logger;
  }

  /** Told that a call starts. */
  start(store: Store, instanceId: string): void {
    this.#timer ??= setInterval(() => this.#tick(store, instanceId), POLL_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #tick(store: Store, instanceId: string): void {
    if (!this.#isBusy()) this.stop();
    else if (!this.#isLooking) this.#lookOnce(store, instanceId);
  }

  #lookOnce(store: Store, instanceId: string): void {
    this.#isLooking = true;
    this.#look(store, instanceId)
      .catch((error: unknown) => this.#logger.debug({ err: error }, "cancel requests could not be read; it is tried again"))
      .finally(() => {
        this.#isLooking = false;
      });
  }

  async #look(store: Store, instanceId: string): Promise<void> {
    const ids = await store.read(listCancelRequests(instanceId));
    if (ids.length === 0) return;
    for (const id of ids) this.#end(id);
    await store.write(() => deleteCancelRequests(ids));
  }
}
