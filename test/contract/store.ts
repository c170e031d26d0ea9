import { afterEach, beforeEach, describe } from "vitest";
import type { Store } from "../../lib/store/store.js";
import { auditContract } from "./audit.js";
import { catalogueContract } from "./catalogue.js";
import { executionsContract } from "./executions.js";
import { instancesContract } from "./instances.js";
import { queueContract } from "./queue.js";
import { transactionsContract } from "./transactions.js";

/** Opens an empty database; `discard` removes it after the store was closed. */
export type OpenEmptyStore = () => Promise<{ readonly store: Store; discard(): Promise<void> }>;

/** What every database must do the same way. */
export function storeContract(name: string, open: OpenEmptyStore): void {
  describe(name, () => {
    let opened: Awaited<ReturnType<OpenEmptyStore>>;
    beforeEach(async () => {
      opened = await open();
    });
    afterEach(async () => {
      await opened.store.close();
      await opened.discard();
    });
    const store = () => opened.store;
    describe("transactions", () => transactionsContract(store));
    describe("catalogue and settings", () => catalogueContract(store));
    describe("audit", () => auditContract(store));
    describe("executions", () => executionsContract(store));
    describe("instances", () => instancesContract(store));
    describe("queue", () => queueContract(store));
  });
}
