import { expect, test } from "vitest";
import { createIdSource } from "../../../lib/executor/ids.js";

test("ids are UUIDv7, all different, and sort in the order they were made", () => {
  const next = createIdSource();
  const ids = Array.from({ length: 20_000 }, next);
  for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(new Set(ids).size).toBe(ids.length);
  expect([...ids].sort()).toEqual(ids);
});

test("an id holds the time it was made, in milliseconds", () => {
  const before = Date.now();
  const id = createIdSource()();
  const madeAt = Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16);
  expect(madeAt).toBeGreaterThanOrEqual(before);
  expect(madeAt).toBeLessThanOrEqual(Date.now());
});
