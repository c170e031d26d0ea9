import { expect, onTestFinished, test, vi } from "vitest";
import { SkillRegistry } from "../../../lib/registry/registry.js";
import { openStore } from "../../../lib/store/open.js";
import type { Store } from "../../../lib/store/store.js";
import type { SkillHead } from "../../../lib/types.js";
import { applicationName, connectBeside, newPostgresDatabase } from "../../fixtures/database.js";
import { gate, openTestKit, recordingLogger, until } from "../../fixtures/kit.js";

const definition = { name: "echo", schema: { type: "object" }, handler: (input: unknown) => input } as const;

/** A registry as another process has it; `isEnabled` looks at its copy without asking for a fresh one. */
async function openRegistry(database: string, now?: () => number) {
  const store = await openStore({ database, durability: "process" });
  onTestFinished(() => store.close());
  const registry = new SkillRegistry({ store, logger: recordingLogger([]), now });
  await registry.open();
  return { store, registry, isEnabled: () => registry.skillsEnabled };
}

/** From here on nobody looks by himself now and then, as all do every 20 s: what is seen was told. */
function neverLookByYourself(): void {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
}

/** Process ids of the connections that listen. */
const listeners = async (client: Awaited<ReturnType<typeof connectBeside>>, database: string) => {
  const text = "select pid from pg_stat_activity where application_name = $1 and query = 'listen express_skills'";
  return (await client.query(text, [applicationName(database)])).rows.map(({ pid }) => pid as number);
};

/** Makes a change and takes it back, five changes in all, and waits each time until it is `seen`. */
async function expectToldOf(change: (isOn: boolean) => Promise<unknown>, seen: () => boolean): Promise<void> {
  for (const isOn of [false, true, false, true, false]) {
    await change(isOn);
    await until(() => seen() === isOn);
  }
}

test("a change is told to another process, which makes no call", async () => {
  neverLookByYourself();
  const database = newPostgresDatabase();
  const kit = openTestKit({ database });
  kit.define(definition);
  await kit.ready();
  const other = await openRegistry(database);
  const client = await connectBeside(database);
  await until(async () => (await listeners(client, database)).length === 2);
  await expectToldOf((isOn) => kit.registry.setSkillsEnabled(isOn), other.isEnabled);
  await expect(kit.executor.execute("echo", {})).rejects.toMatchObject({ code: "SKILLS_DISABLED" });
});

test("a version that one kit disables is refused by another process, as soon as it is told", async () => {
  neverLookByYourself();
  const database = newPostgresDatabase();
  const [kit, calling] = [openTestKit({ database }), openTestKit({ database })];
  for (const each of [kit, calling]) {
    each.define(definition);
    await each.ready();
  }
  // Its clock stands still: what it loaded stays fresh, so that no call finds the change by looking.
  const { registry } = await openRegistry(database, () => 0);
  const client = await connectBeside(database);
  await until(async () => (await listeners(client, database)).length === 3);
  const reference = registry.parse("echo");
  const seen = () => {
    try {
      return (registry.resolve(reference, "default") as SkillHead).enabled;
    } catch (error) {
      expect(error).toMatchObject({ code: "SKILL_DISABLED" });
      return false;
    }
  };
  expect(await calling.executor.execute("echo", {})).toMatchObject({ status: "SUCCESS" });
  await expectToldOf((isOn) => kit.registry.setEnabled("echo", "1.0.0", isOn), seen);
  const isRefused = () =>
    calling.executor.execute("echo", {}).catch((error: { code: string }) => error.code === "SKILL_DISABLED");
  await until(async () => (await isRefused()) === true);
});

test("a listening connection that is ended is made again, and what changed meanwhile is seen", async () => {
  neverLookByYourself();
  const database = newPostgresDatabase();
  const other = await openRegistry(database);
  const client = await connectBeside(database);
  await until(async () => (await listeners(client, database)).length === 1);
  const [pid] = await listeners(client, database);
  await client.query("select pg_terminate_backend($1)", [pid]);
  // Without a notification, as when it was sent while nobody listened.
  await client.query("insert into settings (key, value) values ('skillsEnabled', 'false')");
  await client.query("update catalogue set revision = revision + 1");
  await until(() => !other.isEnabled());
  await until(async () => (await listeners(client, database)).length === 1);
  expect(await listeners(client, database)).not.toEqual([pid]);
});

test("a notification that is lost is made up for within a minute, without any call", { timeout: 90_000 }, async () => {
  const database = newPostgresDatabase();
  const other = await openRegistry(database);
  const client = await connectBeside(database);
  await until(async () => (await listeners(client, database)).length === 1);
  await client.query("insert into settings (key, value) values ('skillsEnabled', 'false')");
  await client.query("update catalogue set revision = revision + 1");
  await until(() => !other.isEnabled(), 60_000);
});

test("a copy that was not checked for a minute, or an hour, is checked before it is used", async () => {
  const database = newPostgresDatabase();
  const clock = { ms: 0 };
  const { registry, store } = await openRegistry(database, () => clock.ms);
  await registry.register({ name: "echo", schema: {}, handler: "echo" });
  const client = await connectBeside(database);
  await until(async () => (await listeners(client, database)).length === 1);
  const reference = registry.parse("echo");
  for (const [ageMs, enabled] of [
    [60_001, 0],
    [3_600_000, 1],
  ] as const) {
    await client.query("update skills set enabled = $1, revision = revision + 1", [enabled]);
    await client.query("update catalogue set revision = revision + 1");
    clock.ms += ageMs;
    const found = (async () => registry.resolve(reference, "default"))();
    if (enabled === 0) await expect(found).rejects.toMatchObject({ code: "SKILL_DISABLED" });
    else expect(((await found) as SkillHead).version).toBe("1.0.0");
  }
  await store.close();
  clock.ms += 60_001;
  await expect((async () => registry.resolve(reference, "default"))()).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
});

test("all calls of a process that was idle for an hour wait for the check, not only the first", async () => {
  const database = newPostgresDatabase();
  const clock = { ms: 0 };
  const { registry } = await openRegistry(database, () => clock.ms);
  await registry.register({ name: "echo", schema: {}, handler: "echo" });
  const client = await connectBeside(database);
  await client.query("update skills set enabled = 0, revision = revision + 1");
  await client.query("update catalogue set revision = revision + 1");
  const reference = registry.parse("echo");
  const call = async () => registry.resolve(reference, "default");
  clock.ms += 3_600_000;
  const calls = [call(), call()];
  clock.ms += 500;
  calls.push(call());
  for (const { reason } of (await Promise.allSettled(calls)) as PromiseRejectedResult[])
    expect(reason).toMatchObject({ code: "SKILL_DISABLED" });
});

test("a check whose answer took more than a minute is made again", async () => {
  const database = newPostgresDatabase();
  const clock = { ms: 0 };
  const store = await openStore({ database, durability: "process" });
  onTestFinished(() => store.close());
  let late: Promise<void> | undefined;
  const hasRead = gate();
  const arriveLate = async <T>(answer: T) => {
    if (late !== undefined) hasRead.open();
    await late;
    return answer;
  };
  const read: Store["read"] = async (operation) => arriveLate(await store.read(operation));
  const slow: Store = { kind: "postgres", read, write: store.write.bind(store), upsertExecutions: () => [], close: () => {} };
  const registry = new SkillRegistry({ store: slow, logger: recordingLogger([]), now: () => clock.ms });
  await registry.open();
  await registry.register({ name: "echo", schema: {}, handler: "echo" });
  const beside = await openRegistry(database);
  const answer = gate();
  late = answer.promise;
  clock.ms += 3_600_000;
  const call = (async () => registry.resolve(registry.parse("echo"), "default"))();
  await hasRead.promise;
  await beside.registry.setEnabled("echo", "1.0.0", false);
  clock.ms += 60_001;
  answer.open();
  await expect(call).rejects.toMatchObject({ code: "SKILL_DISABLED" });
});

test("registries in two schemas of one database do not see or wake each other", async () => {
  const [one, other] = [await openRegistry(newPostgresDatabase()), await openRegistry(newPostgresDatabase())];
  await one.registry.register({ name: "echo", schema: {}, handler: "echo" });
  expect(await other.registry.list()).toEqual([]);
});
