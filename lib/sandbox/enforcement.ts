import { SkillError } from "../errors.js";
import type { EnforcedLimits } from "../types.js";
import { canaryCommand, readCanary } from "./canary.js";
import { parseContainerEnvironment } from "./container-environment.js";
import type { Engine } from "./engine-table.js";
import type { ResolvedImage } from "./images.js";
import { defaultLimits } from "./limits.js";
import type { Room } from "./room.js";
import { startContainer } from "./start-container.js";

export interface Enforcement {
  /**
   * Makes sure, once an engine, that its limits are real: a container started with the image reads its own.
   * @throws `SANDBOX_UNAVAILABLE` when they are not
   */
  ensure(room: Room, engine: Engine, image: ResolvedImage): Promise<void>;
  /** Lets a container of the image read its limits, unless that is known. */
  look(room: Room, engine: Engine, image: ResolvedImage): Promise<void>;
  /** What the canary found of an engine; `null` before it ran, or where no image so far could tell. */
  found(engine: Engine): EnforcedLimits | null;
}

/** Images without the usual programs cannot tell; after this many the engine is taken at its word. */
const maxAttempts = 3;
const canaryLimits = { ...defaultLimits, memoryMb: 64, pidsLimit: 16, timeoutMs: 10_000 };

/** What is known of one engine: another one can answer later. */
interface Knowledge {
  found: EnforcedLimits | null;
  attempts: number;
  asking: Promise<void> | null;
}

export function createEnforcement(allowUnenforcedLimits: boolean): Enforcement {
  const byEngine = new Map<string, Knowledge>();

  const known = ({ traits }: Engine): Knowledge => {
    const knowledge = byEngine.get(traits.name) ?? { found: null, attempts: 0, asking: null };
    byEngine.set(traits.name, knowledge);
    return knowledge;
  };
  const ask = async (knowledge: Knowledge, room: Room, engine: Engine, image: ResolvedImage) => {
    knowledge.attempts += 1;
    const read = await runCanary(room, engine, image);
    if (read.memory !== null) knowledge.found = read;
  };
  const look = async (room: Room, engine: Engine, image: ResolvedImage) => {
    const knowledge = known(engine);
    if (knowledge.found !== null || knowledge.attempts >= maxAttempts) return;
    knowledge.asking ??= ask(knowledge, room, engine, image).finally(() => {
      knowledge.asking = null;
    });
    await knowledge.asking;
  };
  return {
    look,
    async ensure(room, engine, image) {
      if (allowUnenforcedLimits) return;
      await look(room, engine, image);
      const missing = missingLimits(known(engine).found, engine);
      if (missing.length === 0) return;
      throw new SkillError(
        "SANDBOX_UNAVAILABLE",
        `${engine.traits.name} ignores these limits here: ${missing.join(", ")}. Delegate the cgroup controllers to it, or accept it with the option sandbox.allowUnenforcedLimits.`,
      );
    },
    found: (engine) => known(engine).found,
  };
}

/** What a container found, and what the engine says of itself: an image's programs can print what they like. */
function missingLimits(found: EnforcedLimits | null, { unenforced }: Engine): readonly string[] {
  const denied: readonly string[] = unenforced;
  return (["memory", "swap", "cpu", "pids"] as const).filter((limit) => found?.[limit] === false || denied.includes(limit));
}

async function runCanary(room: Room, engine: Engine, image: ResolvedImage): Promise<EnforcedLimits> {
  const started = await startContainer(room, {
    engine,
    image,
    command: canaryCommand,
    environment: parseContainerEnvironment({}),
    limits: canaryLimits,
    files: undefined,
    lifetimeMs: canaryLimits.startTimeoutMs + canaryLimits.timeoutMs + 60_000,
  });
  started.container.feed("", canaryLimits.timeoutMs);
  await started.container.ended;
  void started.release();
  return readCanary(started.container.stdout.text(), canaryLimits);
}
