import { setTimeout as sleep } from "node:timers/promises";
import { SkillError } from "../errors.js";
import { traceContainer } from "../telemetry/sandbox-span.js";
import { createTracing } from "../telemetry/tracing.js";
import type { ContainerSpec, Logger, SandboxRunner, SandboxStats } from "../types.js";
import { createAdmission } from "./admission.js";
import { type Calls, createCalls } from "./calls.js";
import { createEngineChoice } from "./choose-engine.js";
import type { ContainerReply } from "./container-skill.js";
import { createEnforcement } from "./enforcement.js";
import { createImages } from "./images.js";
import { createInstance } from "./instance.js";
import { createNetworks } from "./network.js";
import { parseSandboxOptions, type SandboxOptions } from "./options.js";
import { createRemoval } from "./removal.js";
import { createRoom, type Room, sweep } from "./room.js";
import { parseRun, type Runner, runContainer } from "./run.js";
import { drainSkill, prepareSkill, type ServeOptions, type Server, serveSkill } from "./serve.js";
import { createSlots, type Slots } from "./slots.js";
import { createEvents } from "./start-evidence.js";

/** Runs programs in containers that are thrown away. */
export interface Sandbox extends Pick<SandboxRunner, "run" | "describe"> {
  /**
   * Has a container skill answer one input. How its program ended, well or not, is in the reply; only problems of engine, image and
   * definition are thrown, as by `run`.
   */
  serve(spec: ContainerSpec, input: unknown, options: ServeOptions): Promise<ContainerReply>;
  /** Starts the slots of a container skill with `warm` ahead of its first call. */
  prepare(spec: ContainerSpec, owner: string, skillId?: string): Promise<void>;
  /** Ends the slots of a skill that was served or prepared under its id: it was changed, switched off or removed. */
  drainSkill(skillId: string): void;
  /** Ends all slots and starts none any more; calls are still served. */
  endSlots(): void;
  stats(): SandboxStats;
  /** Does in the background, from now on, what `sweep` does. */
  recover(): void;
  /** Removes what dead instances of this application left, and returns how many containers that were. */
  sweep(): Promise<number>;
  /** Resolves when containers that have ended are removed. */
  settled(): Promise<void>;
  /** Refuses new runs, gives those that run `graceMs` (default 10 000), ends the rest, and removes every container. Idempotent. */
  close(options?: { readonly graceMs?: number | undefined }): Promise<void>;
}

const sweepEveryMs = 60_000;
const releaseLimitMs = 30_000;
const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} };

/** Makes a sandbox. Nothing is started, and no engine asked, before the first run. @throws `INVALID_OPTION` */
export function createSandbox(options: SandboxOptions = {}): Sandbox {
  const settings = parseSandboxOptions(options);
  const instance = createInstance(settings.owner);
  const life = new AbortController();
  const room = createRoom({
    instance,
    choice: createEngineChoice(settings.runtime, settings.environment),
    images: createImages({ allowed: settings.images, pullTimeoutMs: settings.pullTimeoutMs, life: life.signal }),
    life: life.signal,
    networks: createNetworks(),
    events: createEvents(instance),
    removal: createRemoval(),
    living: new Map(),
    releasing: new Set(),
    logger: options.logger ?? silent,
  });
  const runner: Runner = {
    room,
    admission: createAdmission(settings),
    enforcement: createEnforcement(settings.allowUnenforcedLimits),
  };
  const slots = createSlots(settings);
  const server: Server = {
    runner,
    slots,
    defaults: settings.defaults,
    allowEnv: settings.allowEnv,
    environment: settings.environment,
    slotIdleMs: settings.slotIdleMs,
    keys: new Map(),
  };
  const sweeper = createSweeper(room);
  let closing: Promise<void> | null = null;
  const refuseWhenClosed = () => {
    if (closing !== null) throw new SkillError("SHUTTING_DOWN", "The sandbox is closed.");
  };
  const calls = createCalls();
  const tracing = createTracing();

  return {
    async run(image, command, env = {}, config = {}) {
      refuseWhenClosed();
      const request = parseRun(image, command, env, config, settings.defaults);
      sweeper.start();
      const work = () =>
        calls.track(config.signal, (signal) => runContainer(runner, { ...request, config: { ...request.config, signal } }));
      return traceContainer(tracing, image, work, (result) => result);
    },
    async serve(spec, input, options) {
      refuseWhenClosed();
      sweeper.start();
      const work = () => calls.track(options.signal, (signal) => serveSkill(server, spec, input, { ...options, signal }));
      return traceContainer(tracing, spec.image, work, (reply) => reply.result);
    },
    async prepare(spec, owner, skillId) {
      refuseWhenClosed();
      sweeper.start();
      await prepareSkill(server, spec, owner, skillId);
    },
    drainSkill: (skillId) => drainSkill(server, skillId),
    endSlots: () => slots.close(),
    async describe(image) {
      const engine = await room.choice.choose();
      if (image !== undefined) await runner.enforcement.look(room, engine, await room.images.resolve(engine, image, "missing"));
      const { version, server, rootless, remote, cpus, warnings } = engine;
      return {
        engine: engine.traits.name,
        version,
        server,
        rootless,
        remote,
        cpus,
        limits: runner.enforcement.found(engine),
        tried: room.choice.tried,
        warnings,
      };
    },
    stats: () => ({
      running: runner.admission.running,
      queued: runner.admission.queued,
      removing: room.removal.waiting,
      slots: slots.stats(),
    }),
    recover: () => sweeper.start(),
    sweep: () => sweeper.now(),
    settled: () => settleRemovals(room),
    close({ graceMs = 10_000 } = {}) {
      // First, so that no call that ends starts another slot.
      slots.close();
      closing ??= closeRoom(room, calls, slots, life, graceMs).finally(() => sweeper.stop());
      return closing;
    },
  };
}

interface Sweeper {
  /** Sweeps now and every minute. */
  start(): void;
  now(): Promise<number>;
  /** Resolves when a sweep that is under way has ended. */
  stop(): Promise<void>;
}

function createSweeper(room: Room): Sweeper {
  let timer: NodeJS.Timeout | null = null;
  const underWay = new Set<Promise<number>>();
  const now = () => {
    const swept = room.choice.choose().then((engine) => sweep(room, engine));
    underWay.add(swept);
    return swept.finally(() => underWay.delete(swept));
  };
  // An engine that does not answer is told by the run itself.
  const quietly = () => void now().catch(() => {});
  return {
    start() {
      if (timer !== null || room.life.aborted) return;
      timer = setInterval(quietly, sweepEveryMs).unref();
      quietly();
    },
    now,
    async stop() {
      if (timer !== null) clearInterval(timer);
      await Promise.allSettled([...underWay]);
    },
  };
}

async function settleRemovals(room: Room): Promise<void> {
  while (room.releasing.size > 0) await Promise.allSettled([...room.releasing]);
  await room.removal.settled();
}

/** What a removal in the background could not do, such as for a container that came into being after all. */
async function sweepLast(room: Room): Promise<void> {
  const engine = await room.choice.choose().catch(() => null);
  if (engine === null) return;
  await sweep(room, engine);
  await settleRemovals(room);
}

async function closeRoom(room: Room, calls: Calls, slots: Slots, life: AbortController, graceMs: number): Promise<void> {
  await calls.drain(graceMs);
  // The start of a slot that was under way gives its container up when it is done; what hangs is ended below.
  await Promise.race([slots.settled(), sleep(releaseLimitMs, undefined, { ref: false })]);
  life.abort();
  const containers = [...room.living.values()];
  for (const container of containers) container?.end("drain");
  await Promise.allSettled(containers.map((container) => container?.gone));
  // Whoever started a container gives it back once it has ended.
  for (const until = performance.now() + releaseLimitMs; room.living.size > 0 && performance.now() < until; ) await sleep(10);
  await settleRemovals(room);
  if (room.instance.sequence > 0) await sweepLast(room);
  room.events.stop();
  await room.removeFolder();
}
