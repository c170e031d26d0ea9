import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { type Problem, toProblem } from "../api/problem.js";

export interface Resource<Data> {
  /** What was loaded last; it stays while it is loaded again. */
  readonly data: Data | undefined;
  /** Why the latest attempt failed. */
  readonly problem: Problem | undefined;
  readonly isLoading: boolean;
  reload(): void;
}

/** Loads something now, whenever `key` changes, when asked to, and every `everyMs` while the page is visible. */
export function useResource<Data>(key: string, load: (signal: AbortSignal) => Promise<Data>, everyMs?: number): Resource<Data> {
  const [state, setState] = useState<{ key: string; data?: Data; problem?: Problem; isLoading: boolean }>({
    key,
    isLoading: true,
  });
  const [turn, setTurn] = useState(0);
  const latest = useRef(load);
  latest.current = load;
  const reload = useCallback(() => setTurn((before) => before + 1), []);

  useEffect(() => {
    const ending = new AbortController();
    setState((before) => (before.key === key ? { ...before, isLoading: true } : { key, isLoading: true }));
    latest.current(ending.signal).then(
      (data) => {
        if (!ending.signal.aborted) setState({ key, data, isLoading: false });
      },
      (error: unknown) => {
        if (ending.signal.aborted) return;
        setState((before) => ({ ...before, key, problem: toProblem(error), isLoading: false }));
      },
    );
    return () => ending.abort();
  }, [key, turn]);
  useEvery(reload, everyMs);

  const isCurrent = state.key === key;
  return {
    data: isCurrent ? state.data : undefined,
    problem: isCurrent ? state.problem : undefined,
    isLoading: state.isLoading || !isCurrent,
    reload,
  };
}

/** Calls again and again while the page is visible. */
export function useEvery(action: () => void, everyMs: number | undefined): void {
  useEffect(() => {
    if (everyMs === undefined) return;
    const timer = setInterval(() => {
      if (!document.hidden) action();
    }, everyMs);
    return () => clearInterval(timer);
  }, [action, everyMs]);
}

/** The time, for texts like "3 min. ago". */
export function useNow(everyMs = 1_000): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}
