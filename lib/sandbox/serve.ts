import type { ContainerSpec } from "../types.js";
import { Aborted, orAborted } from "./abort.js";
import { answer, behindMs } from "./answer.js";
import {
  type ContainerReply,
  configOf,
  createHiding,
  readReply,
  renderInput,
  resolveEnv,
  secretsOf,
  slotKey,
} from "./container-skill.js";
import type { Limits } from "./limits.js";
import { createLiveLines } from "./live-lines.js";
import { deadlineSlackMs, parseRun, type Runner, type RunRequest, runContainer } from "./run.js";
import type { Slots } from "./slots.js";
import { type StartedContainer, startContainer } from "./start-container.js";

export interface ServeOptions {
  /** The skill's owner: slots are never shared between owners. */
  readonly owner: string;
  /** The skill's id, under which its slots can be ended. Default: what the owner and the definition make. */
  readonly skillId?: string | undefined;
  /** Time limit of the program. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /** Called when the program runs and has been given its input, from where its time counts. */
  readonly onStart?: (() => void) | undefined;
  /** Called with lines of the program's standard error while it runs, without the server's variables. Must not throw. */
  readonly onErrorOutput?: ((text: string) => void) | undefined;
}

export interface Server {
  readonly runner: Runner;
  readonly slots: Slots;
  readonly defaults: Limits;
  readonly allowEnv: ReadonlySet<string>;
  readonly environment: NodeJS.ProcessEnv;
  readonly slotIdleMs: number;
  /** The key under which a skill's slots were last kept, by the skill's identity: what changed outside drains the old ones. */
  readonly keys: Map<string, string>;
}

/** Time limit over which a call is not given a slot. */
const longestWarmMs = 3_600_000;

/** Has a skill's container answer one input: from a slot when one is ready, else from a new container. */
export async function serveSkill(
  server: Server,
  spec: ContainerSpec,
  input: unknown,
  options: ServeOptions,
): Promise<ContainerReply> {
  const { request, secrets } = parseSpec(server, spec, options);
  const line = renderInput(input);
  const key = await keepSlots(server, spec, request, options, "before").catch((error: unknown) => {
    // A cold run tells the caller who gave up how that ended.
    if (error instanceof Aborted) return null;
    throw error;
  });
  const question = {
    image: spec.image,
    input: line,
    timeoutMs: options.timeoutMs,
    signal: options.signal,
    reply: spec.reply ?? "exit",
    onStart: options.onStart,
    errorOutput: options.onErrorOutput && createLiveLines(secrets, options.onErrorOutput),
  };
  const result = await runContainer(server.runner, request, {
    // The reaper of another instance takes a slot for forgotten some time after the longest wait for its input.
    claim: () => (key === null || options.timeoutMs > longestWarmMs ? null : claimSlot(server.slots, key)),
    answer: (started, servedFrom) => answer(started, { ...question, servedFrom }),
  });
  if (key !== null && result.servedFrom === "warm") server.slots.served(key);
  if (key !== null) setTimeout(() => void keepSlots(server, spec, request, options, "after").catch(() => {}), behindMs);
  return readReply(spec, result, createHiding(secrets));
}

function claimSlot(slots: Slots, key: string): StartedContainer | null {
  const slot = slots.claim(key);
  // Nothing of what it printed before the input belongs to the answer.
  slot?.container.stdout.clear();
  slot?.container.stderr.clear();
  return slot;
}

/** Starts a skill's slots ahead of its first call. @throws what `run` throws */
export async function prepareSkill(server: Server, spec: ContainerSpec, owner: string, skillId?: string): Promise<void> {
  const options = { owner, skillId, timeoutMs: server.defaults.timeoutMs };
  const { request } = parseSpec(server, spec, options);
  await keepSlots(server, spec, request, options, "before");
  await keepSlots(server, spec, request, options, "after");
}

/** Ends a skill's slots. */
export function drainSkill(server: Server, skillId: string): void {
  const key = server.keys.get(skillId);
  if (key !== undefined) server.slots.drain(key);
  server.keys.delete(skillId);
}

function parseSpec(server: Server, spec: ContainerSpec, options: ServeOptions) {
  const env = resolveEnv(spec.env ?? {}, server.allowEnv, server.environment);
  const config = configOf(spec, options.timeoutMs, options.signal);
  return { request: parseRun(spec.image, spec.command, env, config, server.defaults), secrets: secretsOf(spec, env) };
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
  const identity = options.skillId ?? slotKey({ spec, owner: options.owner });
  // Slots live and end with this process, so the code that starts them is the same for all.
  const key = slotKey({
    // Two skills that are alike keep slots of their own: what ends the one's leaves the other's.
    identity,
    engine: engine.traits.name,
    engineVersion: engine.version,
    image: image.id,
    command: request.command,
    // The time limit counts from the feed, so it may differ from call to call.
    limits: { ...limits, timeoutMs: 0 },
    environment: request.environment,
    files: request.config.files ?? null,
    owner: options.owner,
  });
  const before = server.keys.get(identity);
  if (when === "before") {
    if (before !== undefined && before !== key) server.slots.drain(before);
    server.keys.set(identity, key);
    return key;
  }
  await enforcement.ensure(room, engine, image);
  // Ended in the meantime: the skill was changed or removed.
  if (server.keys.get(identity) !== key) return null;
  server.slots.keep(key, wanted, () =>
    startContainer(room, {
      engine,
      image,
      command: request.command,
      environment: request.environment,
      limits,
      files: request.config.files,
      lifetimeMs: limits.startTimeoutMs + server.slotIdleMs + longestWarmMs + deadlineSlackMs,
    }),
  );
  return key;
}
