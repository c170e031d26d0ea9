import { isSkillError } from "../errors.js";
import type { EngineWatch } from "./engine-watch.js";
import type { WorkerRooms } from "./worker.js";

/** The version of a skill that was chosen when its work was enqueued. */
export interface ChosenSkill {
  readonly name: string;
  readonly version: string;
  readonly owner: string;
}

/**
 * - idempotent: the work can be done here; whether it may be taken again when this process dies
 * - handler: it cannot; the handler that it needs, `null` for a container
 */
export type Judgement = { readonly idempotent: boolean } | { readonly handler: string | null };

/** Whether work can be done here. What can never be run is to be taken too, and refused. @throws STORE_UNAVAILABLE */
export async function judgeWork(
  { registry, executor }: Pick<WorkerRooms, "registry" | "executor">,
  engine: EngineWatch,
  { name, version, owner }: ChosenSkill,
): Promise<Judgement> {
  try {
    const head = await registry.resolve({ name, range: version }, owner);
    const { skill } = await registry.runnable(head);
    const canDo = skill.handler === null ? engine.answers : executor.hasHandler(skill);
    return canDo ? { idempotent: skill.idempotent === true } : { handler: skill.handler };
  } catch (error) {
    if (isSkillError(error) && !error.retryable) return { idempotent: false };
    throw error;
  }
}
