import { SkillError } from "../errors.js";
import { runCli } from "./cli.js";
import type { Engine } from "./engine-table.js";
import { ownerLabel } from "./instance.js";
import { lastLine } from "./probe.js";

const internalNetwork = "express-skills-internal";

const networkLimitMs = 15_000;

export interface Networks {
  /** The engine's name of a network; `internal` is made on first use. @throws `START_FAILED` */
  resolve(engine: Engine, network: string): Promise<string>;
  /** Looks anew at the next use. */
  forget(): void;
}

/** The internal network joins its containers to each other and to nothing else. It stays, since other instances may use it. */
export function createNetworks(): Networks {
  let made: Promise<void> | null = null;
  return {
    async resolve(engine, network) {
      if (network !== "internal") return network;
      made ??= makeInternal(engine);
      try {
        await made;
      } catch (error) {
        made = null;
        throw error;
      }
      return internalNetwork;
    },
    forget() {
      made = null;
    },
  };
}

async function makeInternal(engine: Engine): Promise<void> {
  if (await exists(engine)) return;
  const outcome = await runCli(
    engine,
    ["network", "create", "--internal", `--label=${ownerLabel}=internal`, internalNetwork],
    networkLimitMs,
  );
  // Another process may have made it in between.
  if (outcome.code === 0 || (await exists(engine))) return;
  throw new SkillError(
    "START_FAILED",
    `${engine.traits.name} could not make the internal network: ${lastLine(outcome.stderr) ?? "no answer"}`,
  );
}

/** A network of that name that is not internal would open the containers to the world. */
async function exists(engine: Engine): Promise<boolean> {
  const outcome = await runCli(engine, ["network", "inspect", "--format={{json .}}", internalNetwork], networkLimitMs);
  if (outcome.code !== 0) return false;
  if (/"internal":\s*true/i.test(outcome.stdout)) return true;
  throw new SkillError("START_FAILED", `The network ${internalNetwork} exists and is not internal: remove it.`);
}
