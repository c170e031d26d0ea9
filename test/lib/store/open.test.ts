import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openStore } from "../../../lib/store/open.js";
import { nextRevision, readRevision } from "../../../lib/store/skills.js";
import { temporaryFolder } from "./temporary.js";

test.each(["", "  ", "a\0b", "file:skills.db", "mysql://root:secret@db/skills", "postgres:u:secret@db"])(
  "%j is no database that can be opened, and its password is not repeated",
  async (database) => {
    const opening = openStore({ database, durability: "process" });
    await expect(opening).rejects.toMatchObject({ code: "INVALID_OPTION", message: expect.not.stringContaining("secret") });
  },
);

test("what was written is there after closing and opening again, under names with spaces and signs too", async () => {
  const folder = join(await temporaryFolder(), "my apps #1 ?x=1");
  await mkdir(folder);
  const config = { database: join(folder, "skills 100%.db"), durability: "power" } as const;
  const first = await openStore(config);
  await first.write(nextRevision);
  await first.close();
  expect(await readdir(folder)).toEqual(["skills 100%.db"]);
  const second = await openStore(config);
  expect(await second.read(readRevision())).toBe(1);
  await second.close();
});

test("two stores of one process on one file work side by side", async () => {
  const config = { database: join(await temporaryFolder(), "skills.db"), durability: "process" } as const;
  const stores = await Promise.all([openStore(config), openStore(config)]);
  await Promise.all(Array.from({ length: 100 }, (_, n) => stores[n % 2]?.write(nextRevision)));
  for (const store of stores) expect(await store.read(readRevision())).toBe(100);
  for (const store of stores) await store.close();
});

test("each database in memory is its own", async () => {
  const [a, b] = await Promise.all([1, 2].map(() => openStore({ database: ":memory:", durability: "process" })));
  await a?.write(nextRevision);
  expect(await b?.read(readRevision())).toBe(0);
  await a?.close();
  await b?.close();
});
