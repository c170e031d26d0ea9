import { type DueWork, hasWorkToPromote, listDue, promoteWork, takeWork } from "../store/queued-work.js";
import type { QueuedWorkRow } from "../store/rows.js";
import type { WorkToTake } from "../store/store.js";
import type { EngineWatch } from "./engine-watch.js";
import { judgeWork } from "./judge-work.js";
import type { WorkerRooms } from "./worker.js";

/** After this time a skill that could not be done here is looked at again: its handler may have been registered since. */
const LOOK_AGAIN_MS = 1_000;
/** Skills that are left out of one look at the queue: each is a parameter of its query. */
const MAX_LEFT_OUT = 500;

export type PickerRooms = Pick<WorkerRooms, "store" | "registry" | "executor" | "instanceId">;

/** Takes from the queue what can be done here. */
export class Picker {
  readonly #rooms: PickerRooms;
  readonly #engine: EngineWatch;
  /** By skill: until when its work is left to others. */
  readonly #leftOut = new Map<string, number>();

  constructor(rooms: PickerRooms, engine: EngineWatch) {
    this.#rooms = rooms;
    this.#engine = engine;
  }

  /** Leaves a skill's work alone for a time. */
  leave(skillId: string, forMs: number): void {
    if (this.#leftOut.size < MAX_LEFT_OUT) this.#leftOut.set(skillId, performance.now() + forMs);
  }

  /** Takes at most `limit`: the caller must do it, or put it back. @throws STORE_UNAVAILABLE */
  async take(limit: number): Promise<QueuedWorkRow[]> {
    const { store, registry, instanceId } = this.#rooms;
    const nowIso = new Date().toISOString();
    if (await store.read(hasWorkToPromote(nowIso))) await store.write(() => promoteWork(nowIso));
    // While all skills are off, their work waits.
    if (!(await registry.getSkillsEnabled())) return [];
    const wanted = await this.#choose(limit);
    return wanted.length === 0 ? [] : store.write(() => takeWork(wanted, instanceId));
  }

  async #choose(limit: number): Promise<WorkToTake[]> {
    const { store } = this.#rooms;
    this.#forgetOld();
    const wanted: WorkToTake[] = [];
    const seen = new Set<string>();
    for (;;) {
      const due = (await store.read(listDue(limit, [...this.#leftOut.keys()]))).filter(({ id }) => !seen.has(id));
      const leftOutBefore = this.#leftOut.size;
      for (const work of due) {
        seen.add(work.id);
        if (this.#leftOut.has(work.skill_id)) continue;
        const taking = await this.#judge(work);
        if (taking === undefined) this.leave(work.skill_id, LOOK_AGAIN_MS);
        else wanted.push(taking);
        if (wanted.length === limit) return wanted;
      }
      // What others must do may hide what can be done here.
      if (due.length === 0 || this.#leftOut.size === leftOutBefore) return wanted;
    }
  }

  async #judge(work: DueWork): Promise<WorkToTake | undefined> {
    const skill = { name: work.skill_name, version: work.skill_version, owner: work.skill_owner };
    const judged = await judgeWork(this.#rooms, this.#engine, skill);
    return "handler" in judged ? undefined : { id: work.id, ...judged };
  }

  #forgetOld(): void {
    const nowMs = performance.now();
    for (const [skillId, untilMs] of this.#leftOut) {
      if (untilMs <= nowMs) this.#leftOut.delete(skillId);
    }
  }
}
