import { describe, expect, test } from "vitest";
import { followExecutions } from "../../../lib/cli/follow.js";
import { gate, openTestKit, until } from "../../fixtures/kit.js";

describe("following executions", () => {
  test("tells the end of one that ends, and of one that begins, between the first two looks at the database", async () => {
    const kit = openTestKit();
    const held = gate<Record<string, never>>();
    kit.define({ name: "held", schema: { type: "object" }, handler: () => held.promise });
    kit.define({ name: "quick", schema: { type: "object" }, handler: () => ({}) });
    const call = kit.executor.execute("held", {});
    await until(async () => (await kit.executor.countExecutions({ status: "RUNNING" })) > 0);
    let looks = 0;
    const executor = Object.assign(Object.create(kit.executor), {
      getExecution: (id: string) => kit.executor.getExecution(id),
      async listExecutions(filter: object) {
        const found = await kit.executor.listExecutions(filter);
        if (looks++ > 0) return found;
        held.open({});
        await call;
        await kit.executor.execute("quick", {});
        return found;
      },
    });
    const stop = new AbortController();
    const told: string[] = [];
    await followExecutions(executor, { limit: 20 }, stop.signal, (execution) => {
      told.push(`${execution.skillName} ${execution.status}`);
      if (told.includes("held SUCCESS") && told.includes("quick SUCCESS")) stop.abort();
    });
    expect(told).toEqual(expect.arrayContaining(["held SUCCESS", "quick SUCCESS"]));
  });
});
