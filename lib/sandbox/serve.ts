import type { ContainerSpec, SandboxResult } from "../types.js";
import { Aborted, orAborted } from "./abort.js";
import { answer } from "./answer.js";
import { type ContainerReply, configOf, readReply, renderInput, resolveEnv, slotKey } from "./container-skill.js";
import type { Limits } from "./limits.js";
import { deadlineSlackMs, parseRun, type Runner, type RunRequest, runCold } from "./run.js";
import type { Slots } from "./slots.js";
import { startContainer } from "./start-container.js";

export interface ServeOptions {
  /** The skill's owner: slots are never shared between owners. */
  readonly owner: string;
  /** Time limit of the program. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

export interface Server {
  readonly runner: Runner;
  readonly slots: Slots;
  readonly defaults: Limits;
  readonly allowEnv: ReadonlySet<string>;
  readonly environment: NodeJS.ProcessEnv;
  readonly slotIdleMs: number;
  /** The key under which a skill's slots were last kept, by owner and content: what changed outside drains the old ones. */
  readonly keys: Map<string, string>;
}

/** The version of this package: an update must not use what an older one started. */
const packageVersion = "0.1.0";

/** Has a skill's container answer one input: from a slot when one is ready, else from a new container. */
export async function serveSkill(
  server: Server,
  spec: ContainerSpec,
  input: unknown,
  options: ServeOptions,
): Promise<ContainerReply> {
  const request = parseSpec(server, spec, options);
  const line = renderInput(input);
  const key = await keepSlots(server, spec, request, options, "before").catch((error: unknown) => {
    // A cold run tells the caller who gave up how that ended.
    if (error instanceof Aborted) return null;
    throw error;
  });
  const slot = key === null ? null : server.slots.claim(key);
  const question = {
    image: spec.image,
    input: line,
    timeoutMs: options.timeoutMs,
    signal: options.signal,
    reply: spec.reply ?? "exit",
  };
  let result: SandboxResult;
  if (slot === null) {
    result = await runCold(server.runner, request, (started) => answer(started, { ...question, servedFrom: "cold" }));
  } else {
    // Nothing of what it printed before the input belongs to the answer.
    slot.container.stdout.clear();
    slot.container.stderr.clear();
    try {
      result = await answer(slot, { ...question, servedFrom: "warm" });
    } finally {
      void slot.release();
    }
    if (key !== null) server.slots.served(key);
  }
  if (key !== null) void keepSlots(server, spec, request, options, "after").catch(() => {});
  return readReply(spec, result);
}

/** Starts a skill's slots ahead of its first call. @throws what `run` throws */
export async function prepareSkill(server: Server, spec: ContainerSpec, owner: string): Promise<void> {
  const options = { owner, timeoutMs: server.defaults.timeoutMs };
  await keepSlots(server, spec, parseSpec(server, spec, options), options, "after");
}

/** Ends a skill's slots. */
export function drainSkill(server: Server, spec: ContainerSpec, owner: string): void {
  const identity = identityOf(spec, owner);
  const key = server.keys.get(identity);
  if (key !== undefined) server.slots.drain(key);
  server.keys.delete(identity);
}

function parseSpec(server: Server, spec: ContainerSpec, options: ServeOptions): RunRequest {
  const env = resolveEnv(spec.env ?? {}, server.allowEnv, server.environment);
  return parseRun(spec.image, spec.command, env, configOf(spec, options.timeoutMs, options.signal), server.defaults);
}

/**
 * Finds the key of a skill's slots, and drains those of a key it had before. `before` a call only that; `after` it also refills, so
 * that a start does not compete with the call. `null` for a skill without slots.
 */
async function keepSlots(
  server: Server,
  spec: ContainerSpec,
  request: RunRequest,
  options: ServeOptions,
  when: "before" | "after",
): Promise<string | null> {
  const wanted = spec.warm ?? 0;
  if (wanted === 0) return null;
  const { room, enforcement } = server.runner;
  const { limits } = request;
  const engine = await orAborted(room.choice.choose(), options.signal);
  const image = await orAborted(room.images.resolve(engine, request.image, limits.pull), options.signal);
  const key = slotKey({
    engine: engine.traits.name,
    engineVersion: engine.version,
    image: image.id,
    command: request.command,
    // The time limit counts from the feed, so it may differ from call to call.
    limits: { ...limits, timeoutMs: 0 },
    environment: request.environment,
    files: request.config.files ?? null,
    owner: options.owner,
    packageVersion,
  });
  const identity = identityOf(spec, options.owner);
  const before = server.keys.get(identity);
  if (before !== undefined && before !== key) server.slots.drain(before);
  if (when === "before") return key;
  await enforcement.ensure(room, engine, image);
  server.keys.set(identity, key);
  server.slots.keep(key, wanted, () =>
    startContainer(room, {
      engine,
      image,
      command: request.command,
      environment: request.environment,
      limits,
      files: request.config.files,
      lifetimeMs: limits.startTimeoutMs + server.slotIdleMs + 3_600_000 + deadlineSlackMs,
    }),
  );
  return key;
}

function identityOf(spec: ContainerSpec, owner: string): string {
  return slotKey({ spec, owner });
}
