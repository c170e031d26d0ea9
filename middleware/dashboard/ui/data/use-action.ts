import { useCallback, useState } from "preact/hooks";
import { type Problem, toProblem } from "../api/problem.js";

export interface Action<Arguments extends readonly unknown[]> {
  readonly isBusy: boolean;
  readonly problem: Problem | undefined;
  /** Whether it succeeded. A second start while it runs does nothing. */
  start(...args: Arguments): Promise<boolean>;
  clear(): void;
}

/** Something a button does, once at a time. */
export function useAction<Arguments extends readonly unknown[]>(act: (...args: Arguments) => Promise<void>): Action<Arguments> {
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | undefined>();
  const clear = useCallback(() => setProblem(undefined), []);
  return {
    isBusy,
    problem,
    clear,
    async start(...args) {
      if (isBusy) return false;
      setBusy(true);
      setProblem(undefined);
      try {
        await act(...args);
        return true;
      } catch (error) {
        setProblem(toProblem(error));
        return false;
      } finally {
        setBusy(false);
      }
    },
  };
}
