import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Collects all garbage now, so that what is left of the heap is what somebody holds. */
export function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  collect();
}
